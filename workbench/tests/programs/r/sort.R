numbers <- scan(file("stdin"), quiet = TRUE)[-1]
cat(sort(numbers), sep = "\n")
cat("\n")
