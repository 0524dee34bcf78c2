package command

// CompletionScripts are the completion scripts of each shell. They ask muster itself, so that
// they are always up to date. bash breaks words at "=" and inserts completions unquoted: it
// gets whole words and addresses without quotes, and keeps the part after the break. The
// others quote.
var CompletionScripts = map[string]string{
	"bash": `_muster() {
  local IFS=$' \t\n' line="${COMP_LINE:0:COMP_POINT}" cur="${COMP_WORDS[COMP_CWORD]}" words typed=""
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  typed="${words[${#words[@]}-1]#[\'\"]}"
  [[ $cur == "=" ]] && cur=""
  IFS=$'\n'
  COMPREPLY=($(muster __complete_bare "${words[@]:1}" 2>/dev/null))
  COMPREPLY=("${COMPREPLY[@]#"${typed%"${cur#[\'\"]}"}"}")
}
complete -o default -F _muster muster
`,
	"zsh": `#compdef muster
_muster() {
  local -a out
  out=("${(@f)$(muster __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "$out" ]] && compadd -- $out || _files
}
compdef _muster muster
`,
	"fish": `function __muster
  set -l words (commandline -opc) (commandline -ct)
  muster __complete (string unescape -- $words[2..-1]) 2>/dev/null
end
complete -c muster -f -a '(__muster)'
complete -c muster -n 'not __muster | string length -q' -F
`,
}
