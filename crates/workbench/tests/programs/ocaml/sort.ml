let () =
  let count = Scanf.scanf " %d" (fun number -> number) in
  let numbers = List.init count (fun _ -> Scanf.scanf " %d" (fun number -> number)) in
  List.iter (Printf.printf "%d\n") (List.sort compare numbers)
