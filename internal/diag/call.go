package diag

import (
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"
)

// ofCall words HCL's diagnostic of a function call as muster does: the function, the argument,
// the error, and how to write the call. ok is false for other diagnostics.
func ofCall(d *hcl.Diagnostic) (summary, detail string, ok bool) {
	call, isCall := d.Extra.(hclsyntax.FunctionCallDiagExtra)
	if !isCall {
		return "", "", false
	}
	name, f := call.CalledFunctionName(), function.Function{}
	known := false
	for ctx := d.EvalContext; ctx != nil && !known; ctx = ctx.Parent() {
		f, known = ctx.Functions[name]
	}
	usage := ""
	if known {
		usage = "Write " + signature(name, f) + "."
	}
	switch d.Summary {
	case "Invalid function argument":
		arg, why, found := cutArgument(d.Detail)
		if why == "argument must not be null" {
			why = "it is null. A variable without a value is null, and so is an attribute that is left out. Give it a value, or write coalesce(VALUE, FALLBACK)"
		}
		return "Wrong argument of " + name, "Argument " + arg + ": " + told(call, why, usage), found
	case "Not enough function arguments":
		_, missing, found := strings.Cut(strings.TrimSuffix(d.Detail, `".`), `Missing value for "`)
		return name + " has too few arguments", missing + " is missing. " + usage, found
	case "Too many function arguments":
		return name + " has too many arguments", usage, known
	case "Invalid expanding argument value":
		return "Wrong arguments of " + name, "What comes before the dots must be a list with a value: its elements are the arguments. " + usage, true
	case "Error in function call":
		_, why, found := strings.Cut(strings.TrimSuffix(d.Detail, "."), "failed: ")
		return name + " has no result", capitalised(told(call, why, usage)), found
	}
	return "", "", false
}

// told is the error as a sentence, without Go's word for a text that ends too soon, and how to
// write the call where that helps.
func told(call hclsyntax.FunctionCallDiagExtra, why, usage string) string {
	if err := call.FunctionCallError(); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || why == io.EOF.Error() || why == io.ErrUnexpectedEOF.Error() {
		why = "the text ends too soon"
	}
	why = strings.TrimSuffix(why, ".") + "."
	if strings.Contains(why, "must") || strings.Contains(why, "required") {
		return why + " " + usage
	}
	return why
}

func capitalised(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// cutArgument reads `Invalid value for "str" parameter: WHY.`
func cutArgument(detail string) (name, why string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(detail, "."), `Invalid value for "`)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, `" parameter: `)
}

// signature is how a function is called: "substr(str, offset, length)".
func signature(name string, f function.Function) string {
	var params []string
	for _, p := range f.Params() {
		params = append(params, p.Name)
	}
	if rest := f.VarParam(); rest != nil {
		params = append(params, rest.Name+", …")
	}
	return name + "(" + strings.Join(params, ", ") + ")"
}
