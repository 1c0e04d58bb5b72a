local parts = {}
for i = 1, 1024 do
  parts[i] = string.rep(string.char(i % 255), 1 << 20)
end
print(#parts)
