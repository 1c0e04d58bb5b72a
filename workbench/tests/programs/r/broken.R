f <- function( {
