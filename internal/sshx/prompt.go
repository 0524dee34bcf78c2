package sshx

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/crypto/ssh"
)

// An Asker puts a server's questions to a person.
type Asker interface {
	Ask(ctx context.Context, p Prompt) (answers []string, err error)
}

// A Prompt is one set of questions from a server. Its texts are the server's: they must be
// cleaned before they are shown.
type Prompt struct {
	Who         string // user@host
	Name        string // of the form; often empty
	Instruction string
	Questions   []Question
}

// A Question is one line to be typed.
type Question struct {
	Text string
	Echo bool // the typed text may be shown
}

const (
	// passwordTries is how often a password or a code may be wrong
	// (ssh_config(5), NumberOfPasswordPrompts).
	passwordTries = 3
	// maxRounds bounds the forms of one login: no server has so many.
	maxRounds = 20
)

var errTooManyQuestions = errors.New("the server asks without an end")

// A conversation is how a person answers one server while it lets them in.
type conversation struct {
	ctx           context.Context
	asker         Asker // nil = no person
	who           string
	pause, resume func() // of the time that the server is given

	wanted bool  // the server would take a password or a code
	rounds int   // forms that were answered
	left   error // why the person stopped
	hungUp bool  // the server did
}

// method is the next way for a person to type, among those that the server allows;
// keyboard-interactive comes before password, as with ssh(1).
func (p *conversation) method(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	for _, m := range []struct {
		name string
		auth ssh.AuthMethod
	}{{"keyboard-interactive", ssh.KeyboardInteractive(p.form)}, {"password", ssh.PasswordCallback(p.password)}} {
		if !slices.Contains(c.AllowedMethods, m.name) {
			continue
		}
		p.wanted = true
		failed := 0
		for _, t := range c.TriedMethods {
			if t == m.name {
				failed++
			}
		}
		if p.asker != nil && p.left == nil && failed < passwordTries {
			return m.auth, nil
		}
	}
	return nil, nil
}

func (p *conversation) form(name, instruction string, questions []string, echos []bool) ([]string, error) {
	prompt := Prompt{Who: p.who, Name: name, Instruction: instruction}
	for i, q := range questions {
		prompt.Questions = append(prompt.Questions, Question{Text: "(" + p.who + ") " + q, Echo: echos[i]})
	}
	if len(questions) == 0 && name == "" && instruction == "" {
		return nil, nil
	}
	return p.ask(prompt)
}

func (p *conversation) password() (string, error) {
	answers, err := p.ask(Prompt{Who: p.who, Questions: []Question{{Text: p.who + "'s password: "}}})
	if err != nil {
		return "", err
	}
	return answers[0], nil
}

func (p *conversation) ask(prompt Prompt) ([]string, error) {
	if p.left != nil {
		return nil, p.left
	}
	if p.rounds++; p.rounds > maxRounds {
		p.left = errTooManyQuestions
		return nil, p.left
	}
	p.pause()
	defer p.resume()
	answers, err := p.asker.Ask(p.ctx, prompt)
	if err == nil && len(answers) != len(prompt.Questions) {
		err = errors.New("the answers do not fit the questions")
	}
	if err != nil {
		p.left, p.hungUp = err, p.ctx.Err() != nil
	}
	return answers, err
}
