let () =
  let parts = List.init 1024 (fun number -> Bytes.make (1 lsl 20) (Char.chr (number land 255))) in
  Printf.printf "%d\n" (List.length parts)
