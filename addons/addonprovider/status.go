package addonprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/slipway-sh/slipway/addons/addonprovider/release"
	"github.com/slipway-sh/slipway/addons/addonprovider/target"
	"github.com/slipway-sh/slipway/addons/addonprovider/v1alpha1"
)

const (
	// maxMessage bounds messages in a status, in bytes.
	maxMessage = 2048
	// patience is how many temporary failures in a row make the phase Failed; the addon is retried
	// all the same.
	patience = 6
	// longPatience is the same for waiting for another addon or for the cluster.
	longPatience = 30
)

// labelValue turns a text into a valid label value. A text that no label may have, such as a long
// one, gets a hash at its end: what an author writes into the spec must not keep the addon from
// having a status.
func labelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	valid := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, text)
	const room = validation.LabelValueMaxLength - 9
	valid = strings.Trim(valid[:min(len(valid), room)], "-_.")
	return strings.TrimLeft(valid+"-"+hex.EncodeToString(sum[:4]), "-")
}

func short(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

func ready(object addon, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&object.AddonStatus().Conditions, metav1.Condition{
		Type: v1alpha1.ReadyCondition, Status: status, Reason: reason, Message: short(message), ObservedGeneration: object.GetGeneration(),
	})
}

// readyReason is the reason of the condition Ready.
func readyReason(object addon) string {
	if c := meta.FindStatusCondition(object.AddonStatus().Conditions, v1alpha1.ReadyCondition); c != nil {
		return c.Reason
	}
	return ""
}

// pending reports whether a deployed release has yet to become ready: it waited in vain for
// workers, or for its workloads after the workers came.
func pending(object addon) bool {
	reason := readyReason(object)
	return reason == v1alpha1.ReasonWaitingForWorkers || reason == v1alpha1.ReasonReleaseFailed
}

// stalled reports whether only a user can help.
func stalled(object addon, is bool, reason, message string) {
	if !is {
		meta.RemoveStatusCondition(&object.AddonStatus().Conditions, v1alpha1.StalledCondition)
		return
	}
	meta.SetStatusCondition(&object.AddonStatus().Conditions, metav1.Condition{
		Type: v1alpha1.StalledCondition, Status: metav1.ConditionTrue, Reason: reason, Message: short(message), ObservedGeneration: object.GetGeneration(),
	})
}

// waits says what an addon waits for.
func (r *reconciler) waits(object addon, what *waitError) {
	status := object.AddonStatus()
	if status.Revision == 0 {
		status.Phase = v1alpha1.PhasePending
	}
	status.FailureMessage = ""
	ready(object, metav1.ConditionFalse, what.reason, what.message)
	stalled(object, false, "", "")
}

// pausedAnnotation is Cluster API's. A recovery pauses addons with it until they are proved,
// without changing their spec.
const pausedAnnotation = "cluster.x-k8s.io/paused"

func held(object addon) bool {
	_, there := object.GetAnnotations()[pausedAnnotation]
	return there
}

func (r *reconciler) paused(object addon) {
	ready(object, metav1.ConditionFalse, v1alpha1.ReasonPaused, "the addon is paused and not reconciled")
}

// showProgress shows what a job is doing.
func (r *reconciler) showProgress(object addon, j *job) {
	if j.phase == "" {
		return
	}
	object.AddonStatus().Phase = j.phase
	message := j.message
	if failure := object.AddonStatus().FailureMessage; failure != "" {
		message += "; the last attempt failed: " + failure
	}
	ready(object, metav1.ConditionFalse, v1alpha1.ReasonProgressing, message)
	stalled(object, false, "", "")
}

// record puts the outcome of a job into the status.
func (r *reconciler) record(object addon, o *outcome) {
	switch {
	case errors.Is(o.err, context.Canceled):
		return // it was made to end, for something else to begin
	case o.err != nil:
		r.failed(object, o)
	case o.uninstall:
		r.memory.gone(keyOf(object), object.GetUID())
		r.events.Event(object, corev1.EventTypeNormal, "Uninstalled", "the release is gone")
	default:
		r.deployed(object, o)
	}
}

func (r *reconciler) deployed(object addon, o *outcome) {
	key, status := keyOf(object), object.AddonStatus()
	r.memory.succeeded(key, o.digest, r.options.ResyncPeriod)
	status.Digest = o.digest
	if o.result != nil {
		status.Revision, status.Notes, status.Resources = o.result.Revision, o.result.Notes, o.result.Resources
	}
	if o.chartDigest != "" {
		status.ChartDigest = o.chartDigest
	}
	if len(o.forWorkers) > 0 {
		applied(object, metav1.ConditionFalse, v1alpha1.ReasonWaitingForWorkers, (&release.WorkersError{Waiting: o.forWorkers}).Error())
	} else {
		confirm(object)
	}
	if len(o.corrected) > 0 {
		r.events.Event(object, corev1.EventTypeWarning, "DriftCorrected", short("brought back: "+strings.Join(o.corrected, ", ")))
	}
	if !o.changed {
		return
	}
	r.events.Event(object, corev1.EventTypeNormal, "Deployed", fmt.Sprintf("revision %d is deployed", status.Revision))
	for _, waiting := range r.memory.waitingForKinds(types.NamespacedName{Namespace: key.Namespace, Name: object.Addon().ClusterName}) {
		r.work.notify(waiting)
	}
}

// confirm says that the release is deployed as desired.
func confirm(object addon) {
	applied(object, metav1.ConditionTrue, v1alpha1.ReasonDeployed, fmt.Sprintf("revision %d is deployed", object.AddonStatus().Revision))
}

// applied says that the release is on the cluster as desired, and whether it is ready.
func applied(object addon, runs metav1.ConditionStatus, reason, message string) {
	status := object.AddonStatus()
	status.Phase, status.FailureMessage, status.Failures = v1alpha1.PhaseDeployed, "", 0
	ready(object, runs, reason, message)
	stalled(object, false, "", "")
}

// failed puts an error into the status and returns when the next attempt is.
func (r *reconciler) failed(object addon, o *outcome) time.Duration {
	key, status := keyOf(object), object.AddonStatus()
	cluster := types.NamespacedName{Namespace: key.Namespace, Name: object.Addon().ClusterName}
	var missing *waitError
	if errors.As(o.err, &missing) {
		r.waits(object, missing)
		status.FailureMessage = short(missing.message)
		_, delay := r.memory.fail(key, failure{digest: o.digest, generation: object.GetGeneration(), cluster: cluster, removing: o.uninstall})
		return min(delay, time.Minute)
	}
	kind := release.KindOf(o.err)
	f := failure{digest: o.digest, generation: object.GetGeneration(), cluster: cluster, kindMissing: kind == release.KindMissing, removing: o.uninstall}
	// Workers that come are an event. What keeps a release from going is on its cluster, whose changes are none.
	if kind.Permanent() && !o.uninstall || kind == release.WorkersMissing {
		f.permanent = max(r.options.ResyncPeriod, time.Minute)
	}
	if kind == release.WorkersMissing {
		r.waits(object, &waitError{v1alpha1.ReasonWaitingForWorkers, o.err.Error()})
		_, delay := r.memory.fail(key, f)
		return delay
	}
	var unreachable *target.UnreachableError
	if errors.As(o.err, &unreachable) {
		f.notBefore = unreachable.Retry
	}
	count, delay := r.memory.fail(key, f)
	changed := status.FailureMessage != short(o.err.Error())
	status.Failures, status.FailureMessage = count, short(o.err.Error())
	status.Phase = phaseAfter(kind, count, status, o)
	ready(object, metav1.ConditionFalse, reasonOf(kind), o.err.Error())
	stalled(object, kind.Permanent(), reasonOf(kind), o.err.Error())
	if changed {
		r.events.Event(object, corev1.EventTypeWarning, reasonOf(kind), status.FailureMessage)
	}
	return delay
}

// phaseAfter is the phase after a failure. The Magnum driver gives up a cluster when an addon is
// Failed, so a failure that may go away by itself does not make it Failed at once.
func phaseAfter(kind release.Kind, count int, status *v1alpha1.AddonStatus, o *outcome) v1alpha1.Phase {
	phase := status.Phase
	if o.phase != "" {
		phase = o.phase
	}
	if o.uninstall {
		return v1alpha1.PhaseUninstalling
	}
	limit := patience
	switch kind {
	case release.TemplateInvalid, release.ChartInvalid, release.Refused, release.NotReady:
		return v1alpha1.PhaseFailed
	case release.Unreachable:
		if status.Digest != "" {
			return status.Phase // what is deployed most likely still is
		}
		limit = longPatience
	case release.KindMissing:
		limit = longPatience
		if status.Revision == 0 {
			phase = v1alpha1.PhasePending
		}
	}
	if count >= limit {
		return v1alpha1.PhaseFailed
	}
	return phase
}

func reasonOf(kind release.Kind) string {
	switch kind {
	case release.Unreachable:
		return v1alpha1.ReasonClusterUnreachable
	case release.KindMissing:
		return v1alpha1.ReasonKindMissing
	case release.TemplateInvalid:
		return v1alpha1.ReasonTemplateFailed
	case release.ChartInvalid:
		return v1alpha1.ReasonChartInvalid
	case release.ChartUnavailable:
		return v1alpha1.ReasonChartUnavailable
	case release.Refused:
		return v1alpha1.ReasonRefused
	case release.HookFailed:
		return v1alpha1.ReasonHookFailed
	}
	return v1alpha1.ReasonReleaseFailed
}
