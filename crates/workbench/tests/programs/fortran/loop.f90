program endless
  implicit none
  integer, volatile :: number
  number = 0
  do
    number = mod(number + 1, 1000)
  end do
end program endless
