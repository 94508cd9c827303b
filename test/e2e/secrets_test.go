package e2e

import (
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// secrets are those of an environment that is up, by what they are: a password of
// the user's, the operator's at the cloud, the private keys, what the environment's
// credential logs in with, and the administrator's key of the seed's cluster.
func (p *project) secrets() map[string]string {
	p.t.Helper()
	found := map[string]string{"password of the registry": registryPassword, "password of the operator": p.entry()["password"]}
	keys := filepath.Join(p.folder, ".slipway", "keys", "*.pem")
	for _, file := range paths(p.t, keys) {
		found[filepath.Base(file)] = strings.Split(read(p, file), "\n")[2]
	}
	for line := range strings.Lines(read(p, filepath.Join(p.folder, ".slipway", "seed.kubeconfig"))) {
		if _, key, ok := strings.Cut(line, "client-key-data: "); ok {
			text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
			if err != nil {
				p.t.Fatal(err)
			}
			found["key of the administrator"] = strings.Split(string(text), "\n")[1]
			found["key of the administrator, encoded"] = strings.TrimSpace(key)
		}
	}
	for what, secret := range found {
		if len(secret) < 8 {
			p.t.Errorf("%s is %q", what, secret)
		}
	}
	if len(found) < 5 {
		p.t.Errorf("only %d secrets were found", len(found))
	}
	return found
}

// entry is what the operator logs in with.
func (p *project) entry() map[string]string {
	p.t.Helper()
	var file struct {
		Clouds map[string]struct{ Auth map[string]string }
	}
	if err := yaml.Unmarshal([]byte(read(p, filepath.Join(p.dir, "clouds.yaml"))), &file); err != nil {
		p.t.Fatal(err)
	}
	return file.Clouds["sandbox"].Auth
}

func read(p *project, file string) string {
	p.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// expectNoSecrets looks for secrets in what others may read: files of the folder and
// of the seed whose mode lets them, everything that was printed, and the logs on the
// seed, of units and pods alike, which are passed on whatever their mode.
func (p *project) expectNoSecrets() {
	p.t.Helper()
	secrets := p.secrets()
	in := func(place, text string) {
		for what, secret := range secrets {
			if strings.Contains(text, secret) {
				p.t.Errorf("%s holds the %s", place, what)
			}
		}
	}
	files := 0
	err := filepath.WalkDir(p.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		info, err := entry.Info()
		if err == nil && (info.Mode().Perm()&0o177 != 0 || strings.HasSuffix(path, ".log")) {
			in(path, read(p, path))
		}
		return err
	})
	if err != nil || files < 10 {
		p.t.Errorf("%d files in the folder (%v)", files, err)
	}
	in("what was printed", p.said.String())
	in("the journal", p.do("logs", "--lines", "1000000"))
	in("the console", p.do("logs", "--console", "--lines", "1000000"))
	p.expectNoSecretsOnSeed(secrets)
}

// expectNoSecretsOnSeed has grep find files by the secrets, which it reads from a
// file that it must find too if it looks at all. They come by standard input: sudo
// writes the command into the journal, where they would be found.
func (p *project) expectNoSecretsOnSeed(secrets map[string]string) {
	p.t.Helper()
	const script = `umask 077; d=$(mktemp -d /var/tmp/look.XXXXXX); trap 'rm -rf $d' EXIT; cat > $d/secrets; cp $d/secrets $d/open; chmod 755 $d; chmod 644 $d/open
find /etc /home /opt /root /run /srv /tmp /usr/local /var -xdev -type f -perm /077 -size -20M -not -path '/run/k3s/*' -exec grep -lF -f $d/secrets -- {} + 2>/dev/null || true
grep -rlF -f $d/secrets /var/log || true`
	cmd := p.command("ssh", "--", "sudo", "sh", "-c", script)
	var lines strings.Builder
	for _, secret := range secrets {
		lines.WriteString(secret + "\n")
	}
	cmd.Stdin = strings.NewReader(lines.String())
	out, err := cmd.CombinedOutput()
	looked := false
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "/var/tmp/look.") && strings.HasSuffix(line, "/open\n") {
			looked = true
			continue
		}
		p.t.Errorf("a secret is on the seed: %s", line)
	}
	if err != nil || !looked {
		p.t.Errorf("looking for secrets: %v\n%s", err, out)
	}
}
