package vain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pauses are the calls by which a wait can be told, by package.
func pauses() map[string][]string {
	return map[string][]string{
		"time": {"After", "NewTicker", "NewTimer", "Tick", "Sleep"},
		"wait": {"PollUntilContextCancel", "PollUntilContextTimeout", "PollImmediateUntilWithContext", "Until"}, "toolswatch": {"UntilWithSync", "Until"},
	}
}

// besides are folders whose waits are no waits of `up`, `down`, `cluster`, `recover` or
// `image`, and why.
func besides() map[string]string {
	return map[string]string{
		"internal/sandbox": "a cloud, not its user", "internal/bundle": "builds and pulls", "internal/ui": "draws", "internal/runlog": "writes", "internal/support": "has its own bounds",
		"internal/cli/sandbox": "the sandbox", "internal/cli/serve": "a server", "internal/cli/ssh": "a terminal", "internal/cli/devstack": "DevStack", "internal/cli/listen": "a server", "stacks/devstack": "DevStack",
		"internal/kube/throwaway": "tests", "internal/kube/kubetest": "tests", "internal/s3test": "tests", "internal/qemu": "image try", "addons/magnum": "controllers and a server",
		"addons/tacker/vnflcm": "a server", "internal/console": "a server", "addons/addonprovider": "controllers", "addons/causes": "controllers", "addons/upkeep": "controllers", "addons/scheduledbackup": "a Job", "addons/janitor": "controllers", "internal/recovery/drill": "a drill", "internal/recovery/fence": "a watch",
		"internal/etcd/defragment.go": "slipway etcd", "internal/charts": "a lock",
	}
}

// TestEveryWaitIsOnThePage: a function that pauses is in docs/operations/waits.md, which says
// what ends it early, or in a folder that has no waits of commands.
func TestEveryWaitIsOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations/waits.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, root := range []string{"internal", "stacks", "addons", "images"} {
		err := filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/_") || strings.Contains(path, "test/") {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
			for other := range besides() {
				if name == other || strings.HasPrefix(name, other+"/") {
					return nil
				}
			}
			return waitsIn(path, filepath.ToSlash(filepath.Dir(name)), found)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) < 20 {
		t.Errorf("only %d waits are found", len(found))
	}
	for name := range found {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("%s waits: write on docs/operations/waits.md what ends it early (or that it only pauses)", name)
		}
	}
	for _, name := range namedOn(string(page)) {
		if !found[name] {
			t.Errorf("%s is on the page, but does not wait", name)
		}
	}
}

// waitsIn notes the functions of a file that pause, as folder.function.
func waitsIn(path, folder string, found map[string]bool) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if of, ok := call.Fun.(*ast.SelectorExpr); ok {
					if from, ok := of.X.(*ast.Ident); ok && slices.Contains(pauses()[from.Name], of.Sel.Name) {
						found[folder+"."+f.Name.Name] = true
					}
				}
			}
			return true
		})
	}
	return nil
}

// namedOn are the functions that the page names.
func namedOn(page string) (names []string) {
	for i, word := range strings.Split(page, "`") {
		if i%2 == 1 && strings.Contains(word, "/") && strings.Contains(word, ".") && !strings.ContainsAny(word, " :") {
			names = append(names, word)
		}
	}
	return names
}
