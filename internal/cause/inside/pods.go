package inside

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-sh/slipway/internal/cause"
)

const (
	// wordsOf is of how many containers the last lines are read.
	wordsOf = 5
	// lastLines and lastBytes bound them.
	lastLines, lastBytes = int64(5), int64(2000)
)

// sick are the pods of the system and of addons that are not well.
func (a *asked) sick(ctx context.Context) error {
	namespaces, err := a.client.CoreV1().Namespaces().List(ctx, page())
	if err != nil {
		return err
	}
	more := cut(namespaces.Continue)
	var in []string
	for _, n := range namespaces.Items {
		if cause.System(n.Name) {
			in = append(in, n.Name)
		}
	}
	found := make([]*corev1.PodList, len(in))
	failed := each(len(in), func(i int) (err error) {
		found[i], err = a.client.CoreV1().Pods(in[i]).List(ctx, page())
		return err
	})
	for i, list := range found {
		if failed[i] != nil {
			continue
		}
		for _, p := range list.Items {
			a.Seen++
			if !well(p) {
				a.Pods = append(a.Pods, pod(p))
			}
		}
		if list.Continue != "" {
			more = cut(list.Continue)
		}
	}
	return cmp.Or(cmp.Or(failed...), more)
}

// well reports whether a pod runs and is ready, or is done.
func well(p corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded || p.DeletionTimestamp != nil {
		return true
	}
	return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
}

// pod is what the engine reads of a pod: nothing of its settings.
func pod(p corev1.Pod) cause.Pod {
	one := cause.Pod{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Owner: owner(p), Instance: p.Labels["app.kubernetes.io/instance"], Created: p.CreationTimestamp.Time}
	if p.Status.Phase == corev1.PodFailed && p.Status.Reason != "" {
		one.Ended = p.Status.Reason + ": " + cause.Text(p.Status.Message)
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			one.Waits = cause.Text(c.Message)
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.Ready || c.State.Terminated != nil && c.State.Terminated.ExitCode == 0 {
			continue
		}
		container := cause.Container{Name: c.Name, Image: c.Image, Restarts: int(c.RestartCount), Exit: exit(c)}
		if w := c.State.Waiting; w != nil {
			container.Reason, container.Message = w.Reason, cause.Text(w.Message)
		}
		one.Containers = append(one.Containers, container)
	}
	return one
}

// exit is how a container ended last; "" if it has not.
func exit(c corev1.ContainerStatus) string {
	t := c.LastTerminationState.Terminated
	if t == nil {
		t = c.State.Terminated
	}
	if t == nil {
		return ""
	}
	text := fmt.Sprintf("%s, exit code %d", cmp.Or(t.Reason, "Error"), t.ExitCode)
	if t.Message != "" {
		text += ": " + cause.Text(t.Message)
	}
	return text
}

// owner is the workload that made a pod: of a ReplicaSet its Deployment, none of a static
// pod, which the node owns.
func owner(p corev1.Pod) cause.Ref {
	o := metav1.GetControllerOf(&p)
	switch {
	case o == nil || o.Kind == "Node":
		return cause.Ref{}
	case o.Kind == "ReplicaSet":
		if hash := p.Labels["pod-template-hash"]; hash != "" && strings.HasSuffix(o.Name, "-"+hash) {
			return cause.Ref{Kind: "Deployment", Name: strings.TrimSuffix(o.Name, "-"+hash)}
		}
	}
	return cause.Ref{Kind: o.Kind, Name: o.Name}
}

// words reads the last lines of containers that end again and again. The kubelet gives
// them, so they are left out where it does not answer.
func (a *asked) words(ctx context.Context) {
	var read []func() error
	for i := range a.Pods {
		p := &a.Pods[i]
		for j := range p.Containers {
			c := &p.Containers[j]
			if c.Reason != "CrashLoopBackOff" || len(read) == wordsOf {
				continue
			}
			read = append(read, func() error {
				lines, bytes := lastLines, lastBytes
				stream, err := a.client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{Container: c.Name, Previous: true, TailLines: &lines, LimitBytes: &bytes}).Stream(ctx)
				if err != nil {
					return err
				}
				defer stream.Close()
				text, _ := io.ReadAll(io.LimitReader(stream, lastBytes)) // what came is told
				c.Words = strings.TrimSpace(string(text))
				return nil
			})
		}
	}
	_ = each(len(read), func(i int) error { return read[i]() }) // causes are found without them too
}
