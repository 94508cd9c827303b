// Package podlogs reads the logs of a management cluster's pods from its Loki, also those of
// pods, and of nodes, that are gone.
package podlogs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/alerts"
)

// MaxLines is how many lines Loki gives at once.
const MaxLines = 5000

// Query is which lines are wanted.
type Query struct {
	// Namespace is that of the pods.
	Namespace string
	// Pod is the beginning of their names; empty for all of the namespace.
	Pod string
	// Contains is a text that lines have; empty for all.
	Contains string
	// Since is how far back to look.
	Since time.Duration
	// Lines is how many, the newest, up to MaxLines.
	Lines int
}

// Line is one line of a container.
type Line struct {
	At                   time.Time
	Node, Pod, Container string
	Text                 string
}

// logQL is the query in Loki's language. Nothing in it can break out of its quotes.
func (q Query) logQL() string {
	selector := "k8s_namespace_name=" + strconv.Quote(q.Namespace)
	if q.Pod != "" {
		selector += ", k8s_pod_name=~" + strconv.Quote(regexp.QuoteMeta(q.Pod)+".*")
	}
	text := "{" + selector + "}"
	if q.Contains != "" {
		text += " |= " + strconv.Quote(q.Contains)
	}
	return text
}

// Read returns the lines, the oldest first. Without Loki it is alerts.ErrAbsent.
func Read(ctx context.Context, on alerts.Access, q Query) ([]Line, error) {
	asked := url.Values{"query": {q.logQL()}, "direction": {"backward"}, "limit": {strconv.Itoa(q.Lines)},
		"since": {strconv.FormatInt(int64(q.Since.Seconds()), 10) + "s"}}
	text, err := on.Get(ctx, "loki", "/loki/api/v1/query_range?"+asked.Encode())
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// parse reads Loki's answer, which has the lines of each stream apart.
func parse(text []byte) ([]Line, error) {
	var answer struct {
		Data struct {
			Result []struct {
				Stream map[string]string
				Values [][]string
			}
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("reading what Loki says: %w", err)
	}
	all := []Line{}
	for _, stream := range answer.Data.Result {
		for _, value := range stream.Values {
			if len(value) < 2 {
				continue
			}
			at, err := strconv.ParseInt(value[0], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading what Loki says: the time %q: %w", value[0], err)
			}
			all = append(all, Line{At: time.Unix(0, at).UTC(), Node: stream.Stream["k8s_node_name"], Pod: stream.Stream["k8s_pod_name"],
				Container: stream.Stream["k8s_container_name"], Text: strings.TrimRight(value[1], "\r\n")})
		}
	}
	slices.SortStableFunc(all, func(a, b Line) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return all, nil
}
