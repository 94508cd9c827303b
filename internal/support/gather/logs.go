package gather

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/support"
)

const (
	// longest is how much of one log is kept: its end.
	longest = 1 << 20
	// atOnce is how many logs of one cluster are read at the same time.
	atOnce = 8
)

// Logs collects the ends of the logs of all containers of a cluster, of a tenant's
// cluster those of its addons, and of containers that were started again also the log
// from before. Pods that are not well come first.
func Logs(client kubernetes.Interface, tenant bool, lines int64) func(context.Context, *support.Folder) error {
	return func(ctx context.Context, folder *support.Folder) error {
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing pods: %w", err)
		}
		items := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return tenant && !cause.System(p.Namespace) })
		slices.SortStableFunc(items, func(a, b corev1.Pod) int { return well(a) - well(b) })
		room := make(chan struct{}, atOnce)
		ended := make(chan struct{}, len(items))
		for _, pod := range items {
			select {
			case room <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			go func() {
				defer func() { <-room; ended <- struct{}{} }()
				logsOf(ctx, client, pod, lines, folder)
			}()
		}
		for range items {
			select {
			case <-ended:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	}
}

// well is 0 for a pod that is not well.
func well(p corev1.Pod) int {
	if p.Status.Phase != corev1.PodRunning && p.Status.Phase != corev1.PodSucceeded {
		return 0
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.RestartCount > 0 || !c.Ready && p.Status.Phase == corev1.PodRunning {
			return 0
		}
	}
	return 1
}

func logsOf(ctx context.Context, client kubernetes.Interface, pod corev1.Pod, lines int64, folder *support.Folder) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.RestartCount == 0 {
			continue // it never ran; the pod says why
		}
		for _, previous := range []bool{false, true} {
			if previous && c.RestartCount == 0 {
				continue
			}
			name := fmt.Sprintf("%s/%s/%s%s.log", pod.Namespace, pod.Name, c.Name, map[bool]string{true: ".previous"}[previous])
			text, err := logOf(ctx, client, pod, corev1.PodLogOptions{Container: c.Name, Previous: previous, Timestamps: true, TailLines: &lines})
			if previous && err != nil && strings.Contains(err.Error(), "not found") {
				continue // the kubelet removed it
			}
			folder.Miss(name, err)
			if len(text) > 0 {
				folder.Add(name, text)
			}
		}
	}
}

func logOf(ctx context.Context, client kubernetes.Interface, pod corev1.Pod, o corev1.PodLogOptions) ([]byte, error) {
	stream, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	kept := &end{}
	_, err = io.Copy(kept, stream)
	return kept.text(), err
}

// end keeps the end of what is written to it.
type end struct {
	kept []byte
	cut  bool
}

func (e *end) Write(p []byte) (int, error) {
	e.kept = append(e.kept, p...)
	if over := len(e.kept) - longest; over > longest { // not at every write
		e.kept, e.cut = append(e.kept[:0], e.kept[over:]...), true
	}
	return len(p), nil
}

// text is what was kept, from the beginning of a line.
func (e *end) text() []byte {
	kept, cut := e.kept, e.cut
	if over := len(kept) - longest; over > 0 {
		kept, cut = kept[over:], true
	}
	if i := bytes.IndexByte(kept, '\n'); cut && i >= 0 {
		kept = kept[i+1:]
	}
	return bytes.Clone(kept)
}
