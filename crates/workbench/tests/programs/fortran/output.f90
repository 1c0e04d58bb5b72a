program flood
  implicit none
  integer :: i
  do i = 1, 200000
    print '(A)', "0123456789"
  end do
end program flood
