sum=0
for number in $(cat); do
  sum=$((sum + number))
done
echo "$sum"
