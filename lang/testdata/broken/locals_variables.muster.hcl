locals {
  a = local.b
  b = local.c + 1
  c = local.a # ERROR: local.a → local.b → local.c → local.a. Break the circle by
  d = local.d # ERROR: local.d → local.d. Break the circle by writing one of them out.
  e = local # ERROR: Write local.NAME: a local cannot read all locals, itself among them.
  f = local.nope # ERROR: There is no local named "nope"; the locals are a, b, c, d, e, f, g.
  g = var.nope # ERROR: There is no variable named "nope"; the variables are v, x, y, z.
}
variable "x" {
  type = strng # ERROR: The keyword "strng" is not a valid type specification. Did you mean
  default = 3
}
variable "y" { type = list(string) } # ERROR: Add -var 'y=[…]', or set MUSTER_VAR_y, or write y = … in a file
variable "y" {} # ERROR: It is already at x.muster.hcl line 14. Give one of them another
variable "z" {
  type = number
  default = "abc" # ERROR: The variable "z" cannot take the value from its default: a number is
}
variable "v" {
  default = 4 # ERROR: v must be over 5
  validation {
    condition = var.v > 5
    error_message = "v must be over 5"
  }
  validation { condition = "x" } # ERROR: A condition is true or false, not a string. # ERROR: A validation block needs error_message = …: message if the condition is
  nullable = false # ERROR: There is no attribute named "nullable" in a variable block; it holds
}
phase "a" { 
  job { command = "x ${local.a} ${var.z} ${HOME}" } # ERROR: There is no value named "HOME" here; expressions here begin with
}
