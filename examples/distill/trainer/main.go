// Command trainer trains small neural networks on Iris: a teacher from the
// labels, a student from a teacher's soft labels, and a summary of them all.
// It behaves like a real one: it reads files, writes checkpoints and logs,
// takes memory, and can fail.
//
//	trainer teacher -data F -hidden N -epochs N -cache MIB -out F -log F
//	trainer student -data F -teacher F -hidden N -epochs N -seed N -out F
//	trainer summary -list F -table F -plot F
package main

import (
	"flag"
	"fmt"
	"os"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("say what to do: teacher, student or summary"))
	}
	run, ok := map[string]func([]string) error{"teacher": teacher, "student": student, "summary": summary}[os.Args[1]]
	if !ok {
		fail(fmt.Errorf("unknown task %q: teacher, student or summary", os.Args[1]))
	}
	if err := run(os.Args[2:]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "trainer:", err)
	os.Exit(1)
}

func teacher(args []string) error {
	fs := flag.NewFlagSet("teacher", flag.ExitOnError)
	data := fs.String("data", "", "training data, CSV")
	hidden := fs.Int("hidden", 8, "hidden units")
	epochs := fs.Int("epochs", 100, "passes over the data")
	cache := fs.Int("cache", 0, "MiB of activations kept in memory")
	out := fs.String("out", "", "checkpoint to write, zip")
	log := fs.String("log", "", "log to write, JSON")
	fs.Parse(args)
	set, err := readData(*data)
	if err != nil {
		return err
	}
	held, err := activationCache(*cache)
	if err != nil {
		return err
	}
	net := newNetwork(*hidden, 1)
	loss := net.train(set.train, *epochs, 0.05)
	fmt.Printf("hidden %d: loss %.4f, accuracy %.3f, cache %d MiB\n", *hidden, loss, net.accuracy(set.test), len(held)>>20)
	if err := net.save(*out); err != nil {
		return err
	}
	return writeJSON(*log, map[string]any{"final": map[string]float64{"loss": loss, "accuracy": net.accuracy(set.test)}})
}

func student(args []string) error {
	fs := flag.NewFlagSet("student", flag.ExitOnError)
	data := fs.String("data", "", "training data, CSV")
	from := fs.String("teacher", "", "the teacher's checkpoint")
	hidden := fs.Int("hidden", 2, "hidden units")
	epochs := fs.Int("epochs", 100, "passes over the data")
	seed := fs.Int64("seed", 1, "random seed")
	out := fs.String("out", "", "result to write, JSON")
	fs.Parse(args)
	set, err := readData(*data)
	if err != nil {
		return err
	}
	big, err := loadNetwork(*from)
	if err != nil {
		return err
	}
	net := newNetwork(*hidden, *seed)
	loss := net.train(big.label(set.train), *epochs, 0.05)
	fmt.Printf("hidden %d, seed %d: loss %.4f, accuracy %.3f\n", *hidden, *seed, loss, net.accuracy(set.test))
	return writeJSON(*out, result{Teacher: len(big.W1), Hidden: *hidden, Seed: *seed,
		Final: final{Loss: loss, Accuracy: net.accuracy(set.test), Agreement: net.agreement(big, set.test)}})
}

// activationCache takes real memory, as a trainer's activations do, and
// touches every page of it. It asks the kernel itself, as a Go program whose
// heap is refused memory does not live to say so.
func activationCache(mib int) ([]byte, error) {
	if mib == 0 {
		return nil, nil
	}
	b, err := syscall.Mmap(-1, 0, mib<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("out of memory: %d MiB needed for activations: %w", mib, err)
	}
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b, nil
}
