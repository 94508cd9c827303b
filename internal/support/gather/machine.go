package gather

import (
	"context"
	"fmt"
	"io"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/support"
)

// Runner runs a program on a machine as root; remote.Machine is one.
type Runner interface {
	Pipe(ctx context.Context, in io.Reader, out io.Writer, program string, args ...string) error
}

// looks are what is run on a machine, by the file that has the output.
func looks(lines int64) map[string][]string {
	n := strconv.FormatInt(lines, 10)
	return map[string][]string{
		"journal.log":         {"journalctl", "--no-pager", "--lines", n},
		"kernel.log":          {"journalctl", "--no-pager", "--dmesg", "--lines", n},
		"k3s.log":             {"journalctl", "--no-pager", "--unit", "k3s", "--lines", n},
		"cloud-init.log":      {"tail", "--lines", n, "/var/log/cloud-init-output.log"},
		"failed-units.txt":    {"systemctl", "--no-pager", "list-units", "--failed"},
		"disks.txt":           {"df", "--human-readable", "--print-type"},
		"memory.txt":          {"free", "--mebi"},
		"processes.txt":       {"ps", "-eo", "pid,ppid,stat,pcpu,pmem,etime,comm"}, // no arguments: they may hold secrets
		"addresses.txt":       {"ip", "address"},
		"routes.txt":          {"ip", "route"},
		"clock.txt":           {"timedatectl", "--no-pager"},
		"listening-ports.txt": {"ss", "--listening", "--numeric", "--tcp", "--udp"},
	}
}

// Machine collects the journal and the state of a machine.
func Machine(m Runner, lines int64) func(context.Context, *support.Folder) error {
	return func(ctx context.Context, folder *support.Folder) error {
		ended := make(chan struct{})
		all := looks(lines)
		for name, command := range all {
			go func() {
				defer func() { ended <- struct{}{} }()
				kept := &end{}
				err := m.Pipe(ctx, nil, kept, command[0], command[1:]...)
				folder.Miss(name, err)
				if text := kept.text(); len(text) > 0 {
					folder.Add(name, text)
				}
			}()
		}
		for range all {
			<-ended
		}
		return nil
	}
}

// Journals collects the journals of the kubelet and of containerd from nodes that are
// not ready, through their kubelets. It needs the kubelet's NodeLogQuery, which is off by
// default, and a kubelet that answers; what does not answer is missing.
func Journals(client kubernetes.Interface, lines int64) func(context.Context, *support.Folder) error {
	return func(ctx context.Context, folder *support.Folder) error {
		nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		for _, node := range nodes.Items {
			if ready(node) {
				continue
			}
			for _, unit := range []string{"kubelet", "containerd"} {
				name := node.Name + "/" + unit + ".log"
				text, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/"+node.Name+"/proxy/logs/").
					Param("query", unit).Param("tailLines", strconv.FormatInt(lines, 10)).DoRaw(ctx)
				if err != nil {
					folder.Miss(name, fmt.Errorf("reading it through the kubelet, which needs NodeLogQuery: %w", err))
					continue
				}
				folder.Add(name, text)
			}
		}
		return nil
	}
}

func ready(node corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
