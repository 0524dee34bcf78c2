variable "n" { type = number } # ERROR: Add -var 'n=VALUE', or set MUSTER_VAR_n, or write n = … in a file
variable "list" { type = list(string) } # ERROR: Add -var 'list=[…]', or set MUSTER_VAR_list, or write list = … in
variable "s" { # ERROR: Add -var 's=VALUE', or set MUSTER_VAR_s, or write s = … in a file
  type = string
  sensitive = "yes" # ERROR: True or false is needed, this is a string.
}
variable "bad name" {} # ERROR: "bad name" cannot name a variable: use letters, digits, _ and -, and # ERROR: Add -var 'bad name=VALUE', or set MUSTER_VAR_bad name, or write bad
variable "1x" {} # ERROR: "1x" cannot name a variable: use letters, digits, _ and -, and begin # ERROR: Add -var '1x=VALUE', or set MUSTER_VAR_1x, or write 1x = … in a
variable "w" {
  default = var.n # ERROR: Variables get their values before anything else is known. Write the
}
variable "f" {
  type = string
  default = file("nope") # ERROR: Argument path: there is no file nope.
}
locals {
  s = "x${var.s}"
}
phase "a" {
  grid { axes = { N = [var.n] } }
  job { command = "x ${cell.N} ${var.n} ${var.list} ${var.list[0]}" }
}
