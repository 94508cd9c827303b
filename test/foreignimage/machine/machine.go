// Package machine runs Debian's sshd, sudo and coreutils in a root folder of their own, for
// tests of what is done to a machine over SSH.
package machine

import (
	"bytes"
	"crypto/ed25519"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/test/foreignimage/image"
)

// serve starts sshd: mounts and processes end with it, and it sees nothing of the host's
// files. It is process 1, under systemd's name.
const serve = `
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount --bind /dev "$1/dev"
mkdir -p "$1/run/sshd" "$1/run/systemd" "$1/usr/share/slipway"
touch "$1/run/systemd/container"
if [ -n "$2" ]; then mount -t tmpfs -o size="$2" tmpfs "$1/usr/share/slipway"; fi
cp "$1/usr/sbin/sshd" "$1/root/systemd"
exec chroot "$1" /root/systemd -D -e -f /etc/ssh/test_config
`

// Start runs a machine and returns how to log in, as debian. room, if not empty, is the size
// of a small disk at /usr/share/slipway. prepare, if not nil, changes the files first. The
// test is skipped where SLIPWAY_PROOFS is not set, and without root.
func Start(t *testing.T, room string, prepare func(root string)) remote.Target {
	t.Helper()
	if os.Getenv("SLIPWAY_PROOFS") == "" {
		t.Skip("SLIPWAY_PROOFS is not set")
	}
	if os.Geteuid() != 0 {
		t.Skip("a root folder of Debian needs root")
	}
	file, err := image.Given(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := image.Unpack(t.Context(), file, root); err != nil {
		t.Fatal(err)
	}
	target := logins(t, root)
	if prepare != nil {
		prepare(root)
	}
	var said bytes.Buffer
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", serve, "serve", root, room)
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd said:\n%s", said.String())
		}
	})
	return target
}

// logins makes the keys, the user and sshd's configuration.
func logins(t *testing.T, root string) remote.Target {
	t.Helper()
	hostPrivate, hostPublic := keyPair(t)
	private, public := keyPair(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, port, _ := net.SplitHostPort(address)
	for name, text := range map[string]string{
		"etc/ssh/test_key": hostPrivate, "etc/sudoers.d/90-debian": "debian ALL=(ALL) NOPASSWD:ALL\n", "etc/ssh/authorized": public,
		"etc/ssh/test_config": "ListenAddress 127.0.0.1\nPort " + port + "\nHostKey /etc/ssh/test_key\nUsePAM no\nAuthorizedKeysFile /etc/ssh/authorized\nPidFile none\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "etc/ssh/authorized"), 0o644); err != nil {
		t.Fatal(err)
	}
	// "*" is a password that nobody has, and no locked account.
	if out, err := exec.CommandContext(t.Context(), "chroot", root, "useradd", "--create-home", "--shell", "/bin/sh", "--password", "*", "debian").CombinedOutput(); err != nil {
		t.Fatalf("useradd: %v\n%s", err, out)
	}
	return remote.Target{Address: address, User: "debian", HostKey: hostPublic, Key: private}
}

// keyPair is a new key: its private part in PEM, its public part as a line.
func keyPair(t *testing.T) (private, public string) {
	t.Helper()
	_, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(secret, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), string(ssh.MarshalAuthorizedKey(signer.PublicKey()))
}
