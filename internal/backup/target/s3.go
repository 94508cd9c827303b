package target

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/slipway-sh/slipway/internal/backup/location"
)

// bucket is a target in a bucket of S3.
type bucket struct {
	client   *s3.Client
	location location.Location
}

// defaultRegion is what servers that are not Amazon's usually sign with.
const defaultRegion = "us-east-1"

func newS3(l location.Location, a Access) *bucket {
	options := s3.Options{Region: l.Region, Credentials: a.S3, UsePathStyle: l.PathStyle, DisableLogOutputChecksumValidationSkipped: true}
	if options.Region == "" {
		options.Region = defaultRegion
	}
	if l.Endpoint != "" {
		options.BaseEndpoint = aws.String(l.Endpoint)
	}
	options.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		if a.Dial != nil {
			t.DialContext = a.Dial
		}
		t.TLSClientConfig = &tls.Config{RootCAs: a.Authorities, MinVersion: tls.VersionTLS12}
	})
	return &bucket{client: s3.New(options), location: l}
}

func (b *bucket) String() string { return b.location.String() }

// Put asks for If-None-Match, so that an object is never replaced. It looks first
// all the same: there are servers that ignore the condition, and an object that is
// there need not be sent. The client adds a checksum, which a bucket with object lock
// requires.
func (b *bucket) Put(ctx context.Context, name string, content []byte) error {
	_, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if err == nil {
		return told(b.String(), name, ErrExists)
	}
	if cause := s3Cause(err); !errors.Is(cause, ErrAbsent) {
		return told(b.String(), name, cause)
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name)),
		Body: bytes.NewReader(content), ContentLength: aws.Int64(int64(len(content))), ContentType: aws.String("application/octet-stream"), IfNoneMatch: aws.String("*")})
	return told(b.String(), name, s3Cause(err))
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	result, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if err != nil {
		return nil, told(b.String(), name, s3Cause(err))
	}
	return result.Body, nil
}

func (b *bucket) List(ctx context.Context, prefix string) ([]Entry, error) {
	var entries []Entry
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{Bucket: &b.location.Container, Prefix: aws.String(b.location.Key(prefix))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, told(b.String(), prefix, s3Cause(err))
		}
		for _, o := range page.Contents {
			entries = append(entries, Entry{Name: b.location.Name(aws.ToString(o.Key)), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)})
		}
	}
	return entries, nil
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.location.Container, Key: aws.String(b.location.Key(name))})
	if cause := s3Cause(err); !errors.Is(cause, ErrAbsent) {
		return told(b.String(), name, cause)
	}
	return nil
}

// s3Cause tells causes apart by the code of the error, and by the status of
// servers that send no code.
func s3Cause(err error) error {
	var coded smithy.APIError
	var response *awshttp.ResponseError
	code, status := "", 0
	if errors.As(err, &coded) {
		code = coded.ErrorCode()
	}
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	switch {
	case err == nil:
		return nil
	case code == "NoSuchBucket":
		return errors.New("there is no such bucket; make it, with object lock if you want that")
	case code == "PreconditionFailed", code == "ConditionalRequestConflict", status == http.StatusPreconditionFailed:
		return ErrExists
	case code == "NoSuchKey", code == "NotFound", status == http.StatusNotFound:
		return ErrAbsent
	case code == "QuotaExceeded", code == "XMinioStorageFull", status == http.StatusInsufficientStorage:
		return errors.Join(ErrFull, err)
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return errors.Join(ErrDenied, err)
	}
	return err
}
