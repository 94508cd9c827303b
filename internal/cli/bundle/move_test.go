package bundle

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/registry"

	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/bundle/bundletest"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

// slipway runs `slipway bundle ARGS` and returns what it prints.
func slipway(t *testing.T, in io.Reader, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := New(ui.Streams{In: in, Out: &out, Err: io.Discard})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// done runs a command that must work.
func done(t *testing.T, want string, args ...string) string {
	t.Helper()
	out, err := slipway(t, nil, args...)
	if err != nil || !strings.Contains(out, want) {
		t.Fatalf("slipway bundle %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// signed is a bundle, and the files of a key.
func signed(t *testing.T) (dir, public, secret string) {
	t.Helper()
	dir = bundleWith(t, "one", "quay.io/one")
	key, text := bundletest.Key(t)
	public, secret = filepath.Join(t.TempDir(), "bundle.pub"), filepath.Join(t.TempDir(), "bundle.key")
	for file, content := range map[string]string{public: "untrusted comment: minisign public key\n" + key + "\n", secret: string(text)} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done(t, "1 items verified and signed", "sign", "--dir", dir, "--key", secret)
	return dir, public, secret
}

// TestABundleIsMovedByCommands as an operator does it: to a registry and back,
// and by an archive through a pipe.
func TestABundleIsMovedByCommands(t *testing.T) {
	t.Parallel()
	dir, public, _ := signed(t)
	done(t, "every digest matches", "verify", "--dir", dir, "--key", public)
	server := httptest.NewServer(ggcr.New())
	t.Cleanup(server.Close)
	address := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/slipway/bundle:v1"
	pushed := done(t, "@sha256:", "push", address, "--dir", dir)
	pulled := t.TempDir()
	done(t, "4 blobs (", "pull", address, "--dir", pulled, "--key", public)
	done(t, "every digest matches", "verify", "--dir", pulled, "--key", public)
	byDigest := strings.TrimSpace(pushed)
	done(t, "0 blobs (0 B) downloaded, 4 taken", "pull", byDigest, "--dir", t.TempDir(), "--key", public, "--reuse", pulled)
	archive := filepath.Join(t.TempDir(), "bundle.tar")
	done(t, "has the 1 items", "save", archive, "--dir", dir)
	done(t, "1 items loaded", "load", archive, "--dir", t.TempDir(), "--key", public)
	piped, err := slipway(t, nil, "save", "-", "--dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := slipway(t, strings.NewReader(piped), "load", "-", "--dir", t.TempDir(), "--key", public); err != nil || !strings.Contains(out, "1 items loaded") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMovingTellsAllThatIsWrong before anything is made.
func TestMovingTellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	unsigned := bundleWith(t, "one", "quay.io/one")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"push unsigned":  {[]string{"push", "registry/x", "--dir", unsigned}, []string{"no address of a bundle", "the bundle is not signed"}},
		"pull":           {[]string{"pull", "oci://x", "--only", "k3s"}, []string{"registry, repository and tag", "no key is given", "are for pulls from upstream"}},
		"pull upstream":  {[]string{"pull", "--unsigned"}, []string{"they are for bundles in a registry"}},
		"pull elsewhere": {[]string{"pull", "--platform", "linux/riscv64"}, []string{"from upstream come the files for linux/"}},
		"load":           {[]string{"load", "/none.tar"}, []string{"no key is given", "/none.tar"}},
		"sign":           {[]string{"sign", "--dir", unsigned}, []string{"no key is given"}},
		"sign, no file":  {[]string{"sign", "--dir", unsigned, "--key", "/none"}, []string{"no such file"}},
		"save unsigned":  {[]string{"save", "/tmp/none.tar", "--dir", unsigned}, []string{"the bundle is not signed"}},
		"save elsewhere": {[]string{"save", "/none/x.tar", "--dir", unsigned, "--unsigned"}, []string{"/none"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := slipway(t, nil, c.args...)
			if err == nil || fault.ExitCode(err) != fault.ExitUsage {
				t.Fatalf("error %v, exit code %d", err, fault.ExitCode(err))
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v has no %q", err, want)
				}
			}
		})
	}
}

// TestABundleThatCannotBeReadIsNotListedAsEmpty, as a folder without one is.
func TestABundleThatCannotBeReadIsNotListedAsEmpty(t *testing.T) {
	t.Parallel()
	done(t, "absent", "list", "--dir", t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, bundle.BillFile), []byte("items: {half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := slipway(t, nil, "list", "--dir", dir); err == nil || !strings.Contains(err.Error(), bundle.BillFile) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestADamagedBundleIsNotGivenToOthers, and not signed.
func TestADamagedBundleIsNotGivenToOthers(t *testing.T) {
	t.Parallel()
	dir, _, secret := signed(t)
	folder, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := folder.Blobs(*folder.Bill().Item("one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder.Blob(blobs[1].SHA256), bytes.Repeat([]byte("x"), int(blobs[1].Size)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sign", "--key", secret}, {"push", "oci://127.0.0.1:1/slipway/bundle:v1"}, {"save", filepath.Join(t.TempDir(), "bundle.tar")}} {
		if _, err := slipway(t, nil, append(args, "--dir", dir)...); err == nil || !strings.Contains(err.Error(), "has changed: its content is") {
			t.Errorf("%s: %v", args[0], err)
		}
	}
}

// TestASaveThatIsStoppedLeavesNothing, above all no file that looks whole.
func TestASaveThatIsStoppedLeavesNothing(t *testing.T) {
	t.Parallel()
	dir, _, _ := signed(t)
	into := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.ErrInterrupted)
	cmd := New(ui.Streams{Out: io.Discard, Err: io.Discard})
	cmd.SetArgs([]string{"save", filepath.Join(into, "bundle.tar"), "--dir", dir})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
}
