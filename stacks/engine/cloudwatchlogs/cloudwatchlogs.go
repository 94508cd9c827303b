// Package cloudwatchlogs replaces the client by which "pulumi logs" reads the logs of programs on
// AWS, which Slipway does not have. The original has 5 MB of calls.
package cloudwatchlogs

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// Client reads nothing.
type Client struct{}

// NewFromConfig returns a client.
func NewFromConfig(any) *Client { return &Client{} }

// FilterLogEventsInput says which events are wanted.
type FilterLogEventsInput struct {
	LogGroupName       *string
	StartTime, EndTime *int64
}

// FilterLogEventsOutput has no events.
type FilterLogEventsOutput struct{ Events []types.FilteredLogEvent }

// FilterLogEventsPaginator has no pages.
type FilterLogEventsPaginator struct{}

// NewFilterLogEventsPaginator returns a paginator.
func NewFilterLogEventsPaginator(*Client, *FilterLogEventsInput) *FilterLogEventsPaginator {
	return &FilterLogEventsPaginator{}
}

// HasMorePages says that there are none.
func (*FilterLogEventsPaginator) HasMorePages() bool { return false }

// NextPage is not called.
func (*FilterLogEventsPaginator) NextPage(context.Context) (*FilterLogEventsOutput, error) {
	return nil, errors.ErrUnsupported
}
