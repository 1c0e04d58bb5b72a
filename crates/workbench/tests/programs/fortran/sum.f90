program total
  implicit none
  integer(8) :: number, sum
  integer :: status
  sum = 0
  do
    read (*, *, iostat=status) number
    if (status /= 0) exit
    sum = sum + number
  end do
  print '(I0)', sum
end program total
