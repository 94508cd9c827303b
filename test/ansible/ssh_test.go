package ansible_test

import (
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// seed is an SSH server that lets the owner of a key in, and says of every command that it succeeded.
type seed struct {
	port, hostKey string
	// clientKey is the private key in OpenSSH's PEM format.
	clientKey []byte
}

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func startSeed(t *testing.T) seed {
	t.Helper()
	host, _ := newKey(t)
	client, pem := newKey(t)
	config := &ssh.ServerConfig{PublicKeyCallback: func(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if meta.User() != "debian" || string(key.Marshal()) != string(client.PublicKey().Marshal()) {
			return nil, os.ErrPermission
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(connection, config)
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return seed{port, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.PublicKey()))), pem}
}

func answer(connection net.Conn, config *ssh.ServerConfig) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			_ = r.Reply(true, nil) // also a terminal, which raw asks for
			if r.Type == "exec" {
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{}))
				break
			}
		}
		channel.Close()
	}
}

// TestAnsibleReachesTheMachines uses what the inventory says with OpenSSH: the seed by the
// host key of the state and no other, a machine behind it through the program.
func TestAnsibleReachesTheMachines(t *testing.T) { onEach(t, testAnsibleReachesTheMachines) }

func testAnsibleReachesTheMachines(t *testing.T, s *site) {
	server := startSeed(t)
	s.env = append(s.env, "ANSIBLE_SSH_ARGS=-o ControlMaster=no -o ControlPath=none") // each login is one of its own
	other, _ := newKey(t)
	s.write("key.pem", string(server.clientKey), 0o600)
	inventory := func(hostKey string) {
		t.Helper()
		text, err := os.ReadFile(recorded(t, "status.json"))
		if err != nil {
			t.Fatal(err)
		}
		var status map[string]any
		if err := json.Unmarshal(text, &status); err != nil {
			t.Fatal(err)
		}
		status["ssh"] = map[string]any{"address": "127.0.0.1", "user": "debian", "hostKey": hostKey, "identityFile": s.path("key.pem")}
		if text, err = json.Marshal(status); err != nil {
			t.Fatal(err)
		}
		s.write("status.json", string(text), 0o600)
	}
	s.write("my %h bin/it's slipway", "#!/bin/sh\necho \"$PWD: $*\" >> "+s.path("calls")+"\ncase \"$*\" in\n\"status \"*) cat "+s.path("status.json")+
		" ;;\n\"cluster \"*) echo '[]' ;;\n*) echo 'error: seed: it is shelved' >&2; exit 1 ;;\nesac\n", 0o755)
	s.write("site/slipway_inventory.yml", "plugin: slipway.cloud.environment\nexecutable: \"../my %h bin/it's slipway\"\nfiles: [\"a b.yaml\"]\n", 0o600)
	raw := func(host string, more ...string) (string, error) {
		return s.run("ansible", append([]string{"-i", s.path("site/slipway_inventory.yml"), host, "-m", "ansible.builtin.raw", "-a", "true"}, more...)...)
	}
	inventory(server.hostKey)
	if out, err := raw("slipway_seed", "-e", "ansible_port="+server.port); err != nil || !strings.Contains(out, "rc=0") {
		t.Errorf("the seed: %s, %v", out, err)
	}
	inventory(strings.TrimSpace(string(ssh.MarshalAuthorizedKey(other.PublicKey()))))
	if out, err := raw("slipway_seed", "-e", "ansible_port="+server.port); err == nil || !strings.Contains(out, "Host key verification failed") {
		t.Errorf("a seed with another host key: %s, %v", out, err)
	}
	_ = os.Remove(s.path("calls"))
	out, err := raw("prod-md-0-abcde")
	calls, _ := os.ReadFile(s.path("calls"))
	if err == nil || !strings.HasSuffix(string(calls), s.path("site")+": ssh --file a b.yaml --forward 10.6.0.12:22\n") {
		t.Errorf("a machine behind the seed: %s, %v\n%s", out, err, calls)
	}
}
