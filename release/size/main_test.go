package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSymbolsHaveOwners covers each kind of name that the linker writes.
func TestSymbolsHaveOwners(t *testing.T) {
	t.Parallel()
	modules := []string{"k8s.io/api", "k8s.io/apimachinery", "github.com/slipway-sh/slipway", "github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/service/s3"}
	for symbol, want := range map[string]string{
		"k8s.io/apimachinery/pkg/runtime.(*Scheme).New":         "k8s.io/apimachinery",
		"k8s.io/api/core/v1.(*Pod).Marshal":                     "k8s.io/api",
		"github.com/aws/aws-sdk-go-v2/service/s3.New":           "github.com/aws/aws-sdk-go-v2/service/s3",
		"type:*github.com/slipway-sh/slipway/internal/ui.Table": "github.com/slipway-sh/slipway",
		"go:itab.*k8s.io/api/core/v1.Pod,runtime.Object":        "k8s.io/api",
		"net/http.(*Client).Do":                                 "std",
		"fmt.Println":                                           "std",
		"github.com/other/module.Do":                            "(other)",
	} {
		if got := owner(symbol, modules); got != want {
			t.Errorf("%s: %s, want %s", symbol, got, want)
		}
	}
	sizes := sum(strings.NewReader("  401000  100 T fmt.Println\n  402000  50 B fmt.buffer\n  403000  30 T k8s.io/api/core/v1.X\n  404000  12 R go:string.*\n  500000  70 D fmt.empty\nbroken\n"), modules,
		func(address uint64) bool { return address == 0x500000 })
	if sizes["std"] != 100 || sizes["k8s.io/api"] != 30 || len(sizes) != 3 {
		t.Errorf("%v", sizes)
	}
}

// TestTheReportOfAProgram reads one that go builds; one without symbols is refused.
func TestTheReportOfAProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.org/small\n", "main.go": "package main\n\nfunc main() { println(\"small\") }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, flags := range []string{"", "-s -w"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", flags, "-o", "small", ".")
		build.Dir = dir
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		var out bytes.Buffer
		err := report(filepath.Join(dir, "small"), &out)
		if flags != "" {
			if err == nil || !strings.Contains(err.Error(), "without -ldflags -s") {
				t.Errorf("without symbols: %v", err)
			}
			continue
		}
		if said := out.String(); err != nil || !strings.Contains(said, "%  std\n") || !strings.Contains(said, "%  Go's standard library\n") || !strings.Contains(said, "the program has ") {
			t.Errorf("%v\n%s", err, said)
		}
	}
}
