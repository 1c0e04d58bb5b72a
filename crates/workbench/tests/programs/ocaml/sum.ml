let rec sum total =
  match Scanf.scanf " %d" (fun number -> number) with
  | number -> sum (total + number)
  | exception _ -> total

let () = Printf.printf "%d\n" (sum 0)
