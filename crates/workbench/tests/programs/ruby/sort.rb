puts $stdin.read.split.map(&:to_i).drop(1).sort
