package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.http.SdkHttpFullResponse;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;

/** What responses to a GET mean. */
class ReplyWithoutLengthTest {
  @ParameterizedTest
  @CsvSource({
    "501, Content-Length, 1000, ORDINARY",
    "501, Content-Length, 0, DECLINED",
    "501, Transfer-Encoding, chunked, DECLINED",
    "500, Content-Length, 1000, DECLINED",
    "206, Content-Length, 0, MOVED",
    "206, Content-Length, 1000, CONTRADICTION",
    "206, Transfer-Encoding, chunked, MOVED",
    "none, Content-Length, 1000, ORDINARY",
    "none, Content-Length, 0, CONTRADICTION",
    "none, Transfer-Encoding, chunked, CONTRADICTION",
  })
  void bodiesOfUnknownLengthAreNotDelivered(
      String reply, String header, String value, Reply.Verdict verdict) {
    SdkHttpRequest request =
        SdkHttpRequest.builder()
            .method(SdkHttpMethod.GET)
            .protocol("http")
            .host("h")
            .putHeader("Range", "bytes=0-999")
            .build();
    var response =
        SdkHttpFullResponse.builder()
            .statusCode(206)
            .putHeader("Content-Range", "bytes 0-999/5000")
            .putHeader("x-amz-rdma-bytes-transferred", "1000")
            .putHeader(header, value);
    if (!reply.equals("none")) {
      response.putHeader("x-amz-rdma-reply", reply);
    }
    assertEquals(
        verdict, Reply.of(Operation.GET_OBJECT, request, response.build(), 1000, true).verdict());
  }
}
