phase "a" {
  job {
    command = "x ${secret.TOKEN} ${env.TOKEN}" # ERROR: A secret is a variable of the job's environment, and its value is in # ERROR: Variables of muster's own environment are not read by expressions, so
    secret "TOKEN" { command = [] } # ERROR: The list is empty: its first element is the program.
    secret "B" { command = "cat x" }
    secret "C" { file = "~/.x" }
    secret "B" { env = "X" } # ERROR: It is already at x.muster.hcl line 5. Give one of them another
    secret "D" { value = "x" } # ERROR: There is no attribute named "value" in a secret block; it belongs in # ERROR: Write exactly one of env, command and file in secret "D".
    env = { TOKEN = "y" } # ERROR: TOKEN is set by env and by secret "TOKEN".
  }
}
