text=xxxxxxxxxxxxxxxx
while [ ${#text} -lt 1073741824 ]; do
  text="$text$text"
done
echo ${#text}
