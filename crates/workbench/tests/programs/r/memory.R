numbers <- numeric(0)
parts <- list()
for (i in 1:128) parts[[i]] <- rep(as.numeric(i), 2^20)
cat(length(parts), "\n")
