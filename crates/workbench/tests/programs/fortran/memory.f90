program hog
  implicit none
  integer(1), allocatable :: numbers(:)
  integer(8) :: i
  allocate (numbers(1073741824_8))
  do i = 1, 1073741824_8, 4096
    numbers(i) = 1
  end do
  print '(I0)', numbers(1)
end program hog
