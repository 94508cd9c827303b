// Command size reports what makes a program large: who brings its bytes, and the code and data
// of each module, from the symbol table of an unstripped build of the same packages.
package main

import (
	"bufio"
	"cmp"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: size PROGRAM")
		os.Exit(2)
	}
	if err := report(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// report prints the modules of a program, largest first.
func report(program string, w io.Writer) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := readContent(program)
	if err != nil {
		return err
	}
	modules := []string{info.Main.Path}
	for _, dep := range info.Deps {
		modules = append(modules, dep.Path)
	}
	nm := exec.Command("go", "tool", "nm", "-size", program)
	var said strings.Builder
	nm.Stderr = &said
	symbols, err := nm.Output()
	if err != nil && !strings.Contains(said.String(), "no symbol") {
		return fmt.Errorf("reading symbols: %w: %s", err, strings.TrimSpace(said.String()))
	}
	sizes := sum(strings.NewReader(string(symbols)), modules, content.empty)
	if len(sizes) == 0 {
		return fmt.Errorf("%s has no symbols: build it without -ldflags -s", program)
	}
	printOwners(w, sizes, content.size)
	print(w, sizes, content.size)
	return nil
}

// sum adds the sizes of symbols up by module. Symbols of no package are "(other)",
// those of the standard library "std". Memory that begins empty takes no room in the file.
func sum(symbols io.Reader, modules []string, empty func(address uint64) bool) map[string]int64 {
	sizes := map[string]int64{}
	lines := bufio.NewScanner(symbols)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // address, size, kind, name
		if len(fields) < 4 || strings.EqualFold(fields[2], "b") {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil || empty(address) {
			continue
		}
		if size, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			sizes[owner(fields[3], modules)] += size
		}
	}
	return sizes
}

// owner is the module of a symbol: the longest whose path begins the symbol's.
func owner(symbol string, modules []string) string {
	symbol = strings.ReplaceAll(symbol, "%2e", ".")
	for _, kind := range []string{"type:", "go:itab."} { // of what follows
		symbol = strings.TrimLeft(strings.TrimPrefix(symbol, kind), ".*")
	}
	if strings.HasPrefix(symbol, "go:") {
		return "(other)"
	}
	best := ""
	for _, m := range modules {
		if strings.HasPrefix(symbol, m) && len(m) > len(best) && (len(symbol) == len(m) || strings.ContainsRune("/.", rune(symbol[len(m)]))) {
			best = m
		}
	}
	if best != "" {
		return best
	}
	// Paths of the standard library have no dot before their first slash.
	first, _, below := strings.Cut(symbol, "/")
	if below && strings.Contains(first, ".") || !strings.Contains(symbol, ".") {
		return "(other)"
	}
	return "std"
}

func print(w io.Writer, sizes map[string]int64, program int64) {
	names := make([]string, 0, len(sizes))
	total := int64(0)
	for name, size := range sizes {
		names = append(names, name)
		total += size
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(sizes[y], sizes[x]), cmp.Compare(x, y)) })
	fmt.Fprintf(w, "%10s  %5s  %s\n", "KIB", "SHARE", "MODULE")
	for _, name := range names {
		if share := float64(sizes[name]) / float64(total); share >= 0.002 {
			fmt.Fprintf(w, "%10d  %4.1f%%  %s\n", sizes[name]>>10, 100*share, name)
		}
	}
	fmt.Fprintf(w, "%10d         all symbols of %d modules; the program has %d KiB, the rest is tables for traces and reflection\n", total>>10, len(names), program>>10)
}
