numbers <- scan(file("stdin"), quiet = TRUE)[-1]
writeLines(as.character(sort(numbers)))
