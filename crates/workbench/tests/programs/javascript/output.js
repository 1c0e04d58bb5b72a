process.stdout.write("0123456789\n".repeat(200000));
