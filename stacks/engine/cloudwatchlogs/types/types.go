// Package types has the event that Pulumi declares; see package cloudwatchlogs.
package types

// FilteredLogEvent is a line of a log.
type FilteredLogEvent struct {
	LogStreamName, Message *string
	Timestamp              *int64
}
