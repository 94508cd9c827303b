package main

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	spdxjson "github.com/spdx/tools-golang/json"
)

// small is a program with what a release asks of it, quick to compile.
const small = `package main

import "os"

var releaseVersion, releaseCommit string

func main() {
	switch os.Args[1] {
	case "completion":
		os.Stdout.WriteString("# completion of " + os.Args[2] + "\n")
	case "reference":
		os.MkdirAll(os.Args[3], 0o755)
		os.WriteFile(os.Args[3]+"/slipway.1", []byte(".TH slipway 1 "+os.Getenv("SOURCE_DATE_EPOCH")+"\n"), 0o644)
	case "version":
		os.Stdout.WriteString(releaseVersion + " " + releaseCommit + "\n")
	}
}
`

const changes = "# Changelog\n\n## Unreleased\n\n- Not yet.\n\n## v0.1.0 (2026-01-01)\n\n- The first.\n- Another.\n\n## v0.0.9\n\n- Old.\n"

// repository makes one with the small program.
func repository(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "repository")
	for name, text := range map[string]string{"go.mod": "module example.org/slipway\n\ngo 1.26\n", "cmd/slipway/main.go": small, "LICENSE": "Apache License 2.0\n", "CHANGELOG.md": changes} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command(t, root, "git", "init", "-q", "-b", "main")
	command(t, root, "git", "add", ".")
	command(t, root, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one")
	return root
}

func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

func testOptions(t *testing.T) (options, minisign.PublicKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return options{root: repository(t), program: "slipway", versions: "main", version: "v0.1.0", platforms: "linux/amd64,linux/arm64,darwin/arm64", key: string(secret), log: io.Discard}, public
}

// TestTwoFoldersGiveTheSameBytes makes whole releases in folders of other names and
// reads the files as their users' tools do.
func TestTwoFoldersGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	o, public := testOptions(t)
	if err := o.validate(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	o.log = &log
	if err := compareTwo(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "all 12 files are the same") {
		t.Error(log.String())
	}
	o.out = filepath.Join(t.TempDir(), "dist")
	if err := makeRelease(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]func(*testing.T, options){"digests": checkSums, "archive": checkArchive, "deb": checkDeb, "rpm": checkRPM, "image": checkImage, "bill": checkBill, "notes": checkNotes} {
		t.Run(name, func(t *testing.T) { check(t, o) })
	}
	t.Run("signature", func(t *testing.T) { checkSignature(t, o, public) })
}

func checkSums(t *testing.T, o options) {
	said := command(t, o.out, "sha256sum", "--check", sumsFile)
	if n := strings.Count(said, ": OK\n"); n != 10 {
		t.Errorf("%d files:\n%s", n, said)
	}
}

func checkSignature(t *testing.T, o options, public minisign.PublicKey) {
	text, err := os.ReadFile(filepath.Join(o.out, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(filepath.Join(o.out, sumsFile+".minisig"))
	if err != nil {
		t.Fatal(err)
	}
	reader := minisign.NewReader(bytes.NewReader(text))
	if _, err := io.Copy(io.Discard, reader); err != nil || !reader.Verify(public, signature) {
		t.Errorf("the signature is wrong: %v", err)
	}
	if _, err := exec.LookPath("minisign"); err == nil {
		command(t, o.out, "minisign", "-Vm", sumsFile, "-P", public.String())
	}
}

func checkArchive(t *testing.T, o options) {
	listed := command(t, o.out, "tar", "-tvf", "slipway_0.1.0_darwin_arm64.tar.gz")
	for _, want := range []string{"0/0", "/slipway\n", "completions/zsh/_slipway\n", "man/man1/slipway.1\n", "LICENSE\n"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the archive has no %q:\n%s", want, listed)
		}
	}
	dir := t.TempDir()
	command(t, o.out, "tar", "-C", dir, "--strip-components=1", "-xf", "slipway_0.1.0_"+host().os+"_"+host().arch+".tar.gz")
	said := command(t, dir, "./slipway", "version")
	if head := command(t, o.root, "git", "rev-parse", "HEAD"); said != "v0.1.0 "+head {
		t.Errorf("the program says %q", said)
	}
	checkStatic(t, filepath.Join(dir, "slipway"))
}

// checkStatic looks for what a program without anything else must not ask for.
func checkStatic(t *testing.T, program string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("the program wants libraries: %v, %v", libraries, err)
	}
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			t.Error("the program wants a dynamic linker")
		}
	}
}

// checkDeb installs it below another root.
func checkDeb(t *testing.T, o options) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("no dpkg-deb")
	}
	about := command(t, o.out, "dpkg-deb", "-f", "slipway_0.1.0_linux_arm64.deb")
	for _, want := range []string{"Package: slipway\n", "Version: 0.1.0\n", "Architecture: arm64\n"} {
		if !strings.Contains(about, want) {
			t.Errorf("the package has no %q:\n%s", want, about)
		}
	}
	root := t.TempDir()
	command(t, o.out, "dpkg-deb", "-x", "slipway_0.1.0_linux_"+host().arch+".deb", root)
	command(t, root, filepath.Join(root, "usr/bin/slipway"), "version")
	for _, name := range []string{"usr/share/man/man1/slipway.1.gz", "usr/share/bash-completion/completions/slipway", "usr/share/zsh/vendor-completions/_slipway", "usr/share/fish/vendor_completions.d/slipway.fish", "usr/share/doc/slipway/copyright"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	if os.Geteuid() == 0 {
		installDeb(t, filepath.Join(o.out, "slipway_0.1.0_linux_"+host().arch+".deb"))
	}
}

// installDeb lets dpkg itself install, upgrade to the same and remove the package.
func installDeb(t *testing.T, file string) {
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--root", root, "--force-not-root", "--force-script-chrootless", "--log", filepath.Join(root, "var/log/dpkg.log")}
	command(t, root, "dpkg", append(args, "-i", file)...)
	command(t, root, "dpkg", append(args, "-i", file)...)
	if said := command(t, root, filepath.Join(root, "usr/bin/slipway"), "version"); !strings.HasPrefix(said, "v0.1.0 ") {
		t.Errorf("the installed program says %q", said)
	}
	command(t, root, "dpkg", append(args, "-r", "slipway")...)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/slipway")); err == nil {
		t.Error("the removed package left its program")
	}
}

func checkRPM(t *testing.T, o options) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("no rpm")
	}
	db := "--dbpath=" + t.TempDir()
	file := "slipway_0.1.0_linux_amd64.rpm"
	if said := command(t, o.out, "rpm", db, "-K", "--nosignature", file); !strings.Contains(said, "digests OK") {
		t.Error(said)
	}
	about := command(t, o.out, "rpm", db, "-qp", "--qf", "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST}", file)
	if about != "slipway 0.1.0 1 x86_64 Apache-2.0 localhost" {
		t.Error(about)
	}
	listed := command(t, o.out, "rpm", db, "-qlp", file)
	for _, want := range []string{"/usr/bin/slipway\n", "/usr/share/zsh/site-functions/_slipway\n", "/usr/share/fish/vendor_completions.d/slipway.fish\n", "/usr/share/man/man1/slipway.1.gz\n", "/usr/share/licenses/slipway/LICENSE\n"} {
		if !strings.Contains(listed, want) {
			t.Errorf("the package has no %q:\n%s", want, listed)
		}
	}
}

func checkImage(t *testing.T, o options) {
	dir := t.TempDir()
	command(t, o.out, "tar", "-C", dir, "-xf", "slipway_0.1.0_image.oci.tar")
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := top.IndexManifest()
	if err != nil || len(listed.Manifests) != 1 {
		t.Fatalf("%v, %v", listed, err)
	}
	index, err := top.ImageIndex(listed.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := index.IndexManifest()
	if err != nil || len(manifests.Manifests) != 2 {
		t.Fatalf("%v, %v", manifests, err)
	}
	for _, one := range manifests.Manifests {
		image, err := index.Image(one.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != one.Platform.Architecture || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/usr/bin/slipway" {
			t.Errorf("the image of %s: %+v", one.Platform, config.Config)
		}
	}
}

func checkBill(t *testing.T, o options) {
	file, err := os.Open(filepath.Join(o.out, "slipway_0.1.0_sbom.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := spdxjson.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Packages) != 3 || doc.Packages[0].PackageVersion != "v0.1.0" || doc.Packages[1].PackageName != "Go" || doc.Packages[2].PackageLicenseConcluded != "0BSD" {
		t.Errorf("%+v", doc.Packages)
	}
	if script, err := os.ReadFile("../internal/console/frame/assets/htmx.min.js"); err != nil || !strings.Contains(string(script), `version="`+htmx+`"`) {
		t.Errorf("the console's htmx is not %s: %v", htmx, err)
	}
}

func checkNotes(t *testing.T, o options) {
	text, err := os.ReadFile(filepath.Join(o.out, "slipway_0.1.0_notes.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "\n\n- The first.\n- Another.\n"; !strings.HasSuffix(string(text), want) || strings.Contains(string(text), "Not yet") {
		t.Errorf("%s", text)
	}
}

// TestWrongInputIsToldAtOnce makes nothing.
func TestWrongInputIsToldAtOnce(t *testing.T) {
	t.Parallel()
	secret := "untrusted comment: minisign\nnonsense"
	for name, c := range map[string]struct {
		o    options
		want []string
	}{
		"nothing":     {options{}, []string{"VERSION: \"\" is not a version", "-platforms: \"\"", "SLIPWAY_RELEASE_KEY: no key"}},
		"no v":        {options{version: "1.0.0", platforms: "linux/amd64", unsigned: true}, []string{"\"1.0.0\" is not a version"}},
		"no file":     {options{version: "v1.0.0", platforms: "linux/amd64", key: "/none/key"}, []string{"reading the key: no such file"}},
		"no key":      {options{version: "v1.0.0", platforms: "linux/amd64", key: secret}, []string{"no secret key of minisign"}},
		"no platform": {options{version: "v1.0.0", platforms: "linux", unsigned: true}, []string{"\"linux\" is not a platform"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.o.validate()
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v has no %q", err, want)
				}
			}
			if err != nil && strings.Contains(err.Error(), "nonsense") {
				t.Errorf("the error tells the key: %v", err)
			}
		})
	}
}

// TestAFailedReleaseLeavesTheOneBefore in its place, and no part of its own.
func TestAFailedReleaseLeavesTheOneBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, version, want string }{
		"changes that are not committed": {"README.md", "new", "v0.1.0", "not committed"},
		"no section":                     {"", "", "v0.2.0", `no section "## v0.2.0"`},
		"a program that does not build":  {"cmd/slipway/main.go", "package main\n\nfunc main() { wrong() }\n", "v0.1.0", "undefined: wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := testOptions(t)
			o.version, o.dirty = c.version, c.file != "README.md"
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(o.root, c.file), []byte(c.text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := o.validate(); err != nil {
				t.Fatal(err)
			}
			o.out = filepath.Join(t.TempDir(), "dist")
			if err := os.MkdirAll(o.out, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(o.out, sumsFile), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			err := makeRelease(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(filepath.Join(o.out, sumsFile)); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(o.out + ".new"); err == nil {
				t.Error("a part of the failed release is left")
			}
		})
	}
}

// TestOnlyAReleaseIsReplaced: what else is in a folder stays, whatever was meant by it.
func TestOnlyAReleaseIsReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		ok    bool
	}{
		"an empty folder": {nil, true}, "a release": {[]string{sumsFile, "slipway_0.1.0_notes.md"}, true}, "another folder": {[]string{"go.mod", "main.go"}, false},
	} {
		dir := t.TempDir()
		for _, file := range c.files {
			write(t, filepath.Join(dir, file), "")
		}
		if err := replaceable(dir); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := replaceable(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("no folder: %v", err)
	}
	o, _ := testOptions(t)
	o.out = o.root
	if err := makeRelease(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is no release") {
		t.Errorf("the repository itself: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.root, "LICENSE")); err != nil {
		t.Error(err)
	}
}

// TestADifferenceIsFound, or the comparison would prove nothing.
func TestADifferenceIsFound(t *testing.T) {
	t.Parallel()
	one, other := t.TempDir(), t.TempDir()
	for i, dir := range []string{one, other} {
		for name, text := range map[string]string{"same": "same", "other": fmt.Sprint(i), fmt.Sprint("only", i): ""} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	equal, err := differences(one, other)
	if equal != 1 || err == nil || len(regexp.MustCompile(`other differs|only0|only1`).FindAllString(err.Error(), -1)) < 3 {
		t.Errorf("%d equal, %v", equal, err)
	}
}

// TestAKeyFromTheEnvironment has the command itself read the key's text, as in a pipeline, and
// the name of its file.
func TestAKeyFromTheEnvironment(t *testing.T) {
	if os.Getenv("SLIPWAY_TEST_RELEASE") != "" {
		os.Args = []string{"release", "-version", "v0.1.0", "-root", os.Getenv("SLIPWAY_TEST_RELEASE"), "-platforms", "linux/amd64"}
		flag.CommandLine = flag.NewFlagSet("release", flag.ExitOnError)
		main()
		return
	}
	t.Parallel()
	_, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := private.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	write(t, file, string(text))
	// The folder is no repository: the command comes as far as that if the key is right.
	const right = "not a git repository"
	for key, want := range map[string]string{string(text): right, file: right, file + "s": keyVariable + ": reading the key", "": keyVariable + ": no key"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKeyFromTheEnvironment$")
		cmd.Env = append(os.Environ(), "SLIPWAY_TEST_RELEASE="+dir, keyVariable+"="+key, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), want) {
			t.Errorf("%v, no %q in %s", err, want, said)
		}
	}
}

// TestKeysWithAPassword are what minisign makes unless it is told otherwise.
func TestKeysWithAPassword(t *testing.T) {
	t.Parallel()
	_, private, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := minisign.EncryptKey("word", private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := readKey(file, "word"); err != nil || !key.Equal(private) {
		t.Errorf("%v", err)
	}
	if _, err := readKey(file, "another"); err == nil || !strings.Contains(err.Error(), "cannot be decrypted") {
		t.Errorf("%v", err)
	}
}
