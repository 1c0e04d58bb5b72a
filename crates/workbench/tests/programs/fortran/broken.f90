program broken
  implicit none
  number = 5
end program broken
