local count = io.read("n")
local numbers = {}
for i = 1, count do
  numbers[i] = io.read("n")
end
table.sort(numbers)
for _, number in ipairs(numbers) do
  print(number)
end
