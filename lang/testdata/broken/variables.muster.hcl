variable "n" {
  type    = number
  default = "many" # ERROR: The variable "n" cannot take the value from its default
}
variable "t" {
  type    = strng # ERROR: 
  default = 1
}
variable "v" {
  default = 5 # ERROR: v must be over 10
  validation {
    condition     = var.v > 10
    error_message = "v must be over 10"
  }
}
variable "w" {
  default = local.x # ERROR: 
  typ     = string # ERROR: did you mean "type"?
}
campaign "c" {
  required_version = ">= 9.0" # ERROR: The campaign requires >= 9.0; this is muster 0.1.0
  state "s3" {} # ERROR: no state store of type "s3"
}
