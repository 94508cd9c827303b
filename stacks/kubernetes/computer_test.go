package kubernetes

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/slipway-sh/slipway/internal/kube/apitest"
	"github.com/slipway-sh/slipway/internal/remote"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// computer is a machine that is reached by SSH. It has files, on which the usual programs work,
// and answers other programs by what is set.
type computer struct {
	mu    sync.Mutex
	files map[string]string
	// says are the answers of programs by the beginning of their command; the longest counts.
	says map[string]said
	// before, if not nil, is called before each command.
	before func(command string)
	ran    []string
	// api is where connections through the machine lead.
	api string
}

// said is what a program prints, and its exit status.
type said struct {
	out, err string
	status   uint32
}

// machine starts the computer and logs in.
func (c *computer) machine(t *testing.T) *remote.Machine {
	t.Helper()
	key := func() (string, ssh.Signer) {
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
		return string(pem.EncodeToMemory(block)), signer
	}
	private, _ := key()
	_, own := key()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(own)
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(connection, config)
		}
	}()
	m, err := remote.Open(t.Context(), remote.Target{Address: l.Addr().String(), User: "debian", HostKey: string(ssh.MarshalAuthorizedKey(own.PublicKey())), Key: private})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func (c *computer) serve(connection net.Conn, config *ssh.ServerConfig) {
	defer connection.Close()
	_, channels, requests, err := ssh.NewServerConn(connection, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for channel := range channels {
		if channel.ChannelType() == "session" {
			go c.session(channel)
		} else {
			go c.connect(channel)
		}
	}
}

func (c *computer) session(n ssh.NewChannel) {
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	for r := range requests {
		var command struct{ Line string }
		_ = ssh.Unmarshal(r.Payload, &command)
		_ = r.Reply(r.Type == "exec", nil)
		in, _ := io.ReadAll(channel)
		answer := c.run(words(command.Line)[3:], string(in)) // after sudo and its options
		_, _ = io.WriteString(channel, answer.out)
		_, _ = io.WriteString(channel.Stderr(), answer.err)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{answer.status}))
		return
	}
}

// connect joins a connection through the machine with the API.
func (c *computer) connect(n ssh.NewChannel) {
	far, err := net.Dial("tcp", c.api)
	if err != nil {
		_ = n.Reject(ssh.ConnectionFailed, "Connection refused")
		return
	}
	defer far.Close()
	channel, requests, err := n.Accept()
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	defer channel.Close()
	go func() { _, _ = io.Copy(far, channel) }()
	_, _ = io.Copy(channel, far)
}

// words undoes remote.Command.
func words(line string) []string {
	line = strings.ReplaceAll(line, `'\''`, "\x00")
	all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "'"), "'"), "' '")
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "\x00", "'")
	}
	return all
}

// run does what a command does.
func (c *computer) run(command []string, in string) said {
	line := strings.Join(command, " ")
	c.mu.Lock()
	c.ran = append(c.ran, line)
	before := c.before
	c.mu.Unlock()
	if before != nil {
		before(line)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	longest := ""
	for beginning := range c.says {
		if strings.HasPrefix(line, beginning) && len(beginning) > len(longest) {
			longest = beginning
		}
	}
	if longest != "" {
		return c.says[longest]
	}
	return c.work(command, in)
}

// work is run by the programs that work on files.
func (c *computer) work(command []string, in string) (answer said) {
	last := command[len(command)-1]
	content, there := c.files[last]
	absent := said{err: last + ": No such file or directory", status: 1}
	switch command[0] {
	case "sha256sum":
		for _, path := range command[2:] {
			if content, there := c.files[path]; there {
				answer.out += fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(content)), path)
			} else {
				answer.status = 1
			}
		}
	case "test", "cat":
		if !there {
			return absent
		}
		answer.out = content
	case "touch", "install":
		c.files[last] = in
	case "rm":
		for _, path := range command[1:] {
			delete(c.files, path)
		}
	case "sh":
		if i := slices.Index(command, "slipway-send"); i > 0 {
			return c.receive(command[i+1], command[i+2], in)
		}
	}
	return answer
}

// receive is the machine's side of remote.Send.
func (c *computer) receive(verb, path, in string) (answer said) {
	part := path + ".part"
	switch _, there := c.files[path]; {
	case verb == "state" && there:
		answer.out = "there"
	case verb == "state":
		answer.out = "0 99999999"
	case verb == "append":
		c.files[part] = in
	case verb == "place":
		c.files[path] = c.files[part]
		delete(c.files, part)
	}
	return answer
}

// did are the commands so far that change something, without what they were given; it forgets them.
func (c *computer) did() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all bytes.Buffer
	for _, line := range c.ran {
		for _, begins := range []string{"systemctl stop", "systemctl start", "systemctl restart", "systemctl enable", "systemctl daemon-reload", "sysctl", "touch", "rm", "install", "mkdir"} {
			if strings.HasPrefix(line, begins) {
				fmt.Fprintln(&all, strings.Replace(line, "-D -m 0600 -o root -g root /dev/stdin ", "", 1))
			}
		}
		if strings.HasSuffix(line, growData) {
			fmt.Fprintln(&all, "grow")
		}
	}
	c.ran = nil
	return all.String()
}

const (
	settings = "/etc/rancher/k3s/config.yaml"
	running  = "Id=slipway-data.service\nLoadState=loaded\nActiveState=active\n\nNRestarts=0\nId=k3s.service\nLoadState=loaded\nActiveState=active\n"
)

// bundled is a machine of the bundle's image whose k3s runs, with a volume of 10 GiB.
func bundled() *computer {
	return &computer{files: map[string]string{settings: "a: b\n"}, says: map[string]said{
		"sh -c " + seed.MachineFacts: {out: "image=own\n"},
		"findmnt":                    {out: "10737418240\n"},
		"systemctl show":             {out: running},
	}}
}

// errStopped is why a run ends that somebody stops.
var errStopped = errors.New("somebody stopped the run")

// withKinds is an API server that has the kinds besides Kubernetes' that addons use, and Clusters.
func withKinds(t *testing.T) *apitest.Server {
	t.Helper()
	server := apitest.Start(t)
	server.Define("cert-manager.io/v1", "Issuer", "Certificate")
	server.Define("velero.io/v1", "BackupStorageLocation", "Schedule")
	server.Define("cluster.x-k8s.io/v1beta2", "Cluster")
	return server
}

// soon is a context that ends before the patience of an installation does: a test that fails tells why then.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(stop)
	return ctx
}
