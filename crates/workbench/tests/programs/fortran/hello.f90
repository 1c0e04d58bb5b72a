program hello
  print '(A)', "Hello, world!"
end program hello
