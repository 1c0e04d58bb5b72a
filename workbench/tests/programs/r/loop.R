while (TRUE) {
}
