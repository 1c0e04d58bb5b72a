for _ = 1, 200000 do
  io.write("0123456789\n")
end
