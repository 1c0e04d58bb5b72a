program sorting
  implicit none
  integer :: count, i, j, number
  integer, allocatable :: numbers(:)
  read (*, *) count
  allocate (numbers(count))
  do i = 1, count
    read (*, *) number
    j = i - 1
    do while (j >= 1)
      if (numbers(j) <= number) exit
      numbers(j + 1) = numbers(j)
      j = j - 1
    end do
    numbers(j + 1) = number
  end do
  do i = 1, count
    print '(I0)', numbers(i)
  end do
end program sorting
