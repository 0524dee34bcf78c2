failure "disk quota" { match = "x" } # ERROR: "disk quota" cannot name a failure: use letters, digits, _ and -, and
failure "oom" { match = "x" } # ERROR: "oom" is a built-in class. Give the block another
failure "f" {
  match = "y"
  class = "not a class" # ERROR: "not a class" cannot name a failure class: use letters, digits, _ and
}
failure "g" {
  match = "y"
  class = "walltime"
}
failure "h" { exit_codes = [300, "a"] } # ERROR: "300" is not an exit code: these are whole numbers from 0 to 255. # ERROR: "a" is not an exit code: these are whole numbers from 0 to 255.
failure "i" {
  match = "(" # ERROR: "(" is not a regular expression (RE2): error parsing regexp: missing
  action = "explode" # ERROR: "explode" is not one of retry, hold, fail.
}
phase "a" { 
  job { command = "x" } 
}
