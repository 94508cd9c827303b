package cause

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// deadHooks are webhooks without a pod that answers, and those that the API server says it
// cannot call.
func deadHooks(v *scene) []hit {
	if v.Inside == nil || v.cluster == nil {
		return nil
	}
	var hits []hit
	for _, hook := range v.Inside.Hooks {
		object := v.under(v.top(), Ref{Kind: "webhook", Name: hook.Name})
		h := hit{object: object, source: "Kubernetes", since: hook.Created, owners: []string{hook.Service}}
		if hook.Required && hook.Ready == 0 && v.Now.Sub(hook.Created) > young {
			h.cause = "its service " + hook.Service + " has no ready endpoints"
			h.evidence = []string{hook.Configuration + ": webhook " + hook.Name + " is answered by service " + hook.Service + ", which has 0 ready endpoints"}
		}
		for _, w := range v.Inside.Warnings {
			if strings.Contains(w.Message, `failed calling webhook "`+hook.Name+`"`) && v.Now.Sub(w.Last) < recent {
				h.cause = cmp.Or(h.cause, oneLine(w.Message))
				h.evidence = append(h.evidence, w.About.String()+": "+oneLine(w.Message))
				break
			}
		}
		if h.cause != "" {
			hits = append(hits, h)
		}
	}
	return hits
}

// attachLimit are nodes that have all volumes that they can have.
func attachLimit(v *scene) []hit { return v.attached(true) }

// attachFailed are volumes that cannot be attached for another reason.
func attachFailed(v *scene) []hit { return v.attached(false) }

// attached judges volumes that are to be attached and are not.
func (v *scene) attached(limit bool) []hit {
	if v.Inside == nil || v.cluster == nil {
		return nil
	}
	var hits []hit
	add := func(object Ref, words, source string, since time.Time) {
		if !slices.ContainsFunc(hits, func(h hit) bool { return h.object == object }) {
			hits = append(hits, hit{object: object, cause: oneLine(words), source: source, since: since, evidence: []string{source + ": " + oneLine(words)}})
		}
	}
	for _, a := range v.Inside.Attachments {
		if a.Error == "" || fullNode.MatchString(a.Error) != limit {
			continue
		}
		node := v.under(v.nodeParent(a.Node), Ref{Kind: "Node", Name: a.Node})
		if limit {
			add(node, a.Error, "Cinder CSI", a.Since)
		} else {
			add(v.under(node, Ref{Kind: "persistent volume", Name: a.Volume}), a.Error, "Cinder CSI", a.Since)
		}
	}
	for _, w := range v.Inside.Warnings {
		if limit && v.Now.Sub(w.Last) < recent && (w.Reason == "FailedScheduling" || w.Reason == "FailedAttachVolume") && fullNode.MatchString(w.Message) && len(hits) == 0 {
			add(v.under(v.top(), Ref{Kind: "volumes", Name: "of pod " + w.About.Name}), w.Message, "the scheduler", w.First)
		}
	}
	return hits
}
