package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.s3.Reply.Verdict;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;

/** What responses mean, those of servers that lie, too. */
class ReplyTest {
  private static final int SIZE = 1000;

  @ParameterizedTest
  @CsvSource({
    // wanted, status, reply, bytes, Content-Range
    "bytes=100-1099, 206, 206, 1000, bytes 100-1099/5000, MOVED",
    "bytes=100-1099, 200, 200, 1000, bytes 100-1099/5000, MOVED",
    "bytes=100-1099, 206, 206, 1000, bytes 100-1099/*, MOVED",
    "bytes=100-1099, 206, 206, 400, bytes 100-499/500, MOVED",
    "bytes=-1000, 206, 206, 1000, bytes 4000-4999/5000, MOVED",
    "bytes=-1000, 206, 206, 300, bytes 0-299/300, MOVED",
    "bytes=100-1099, 206, 206, 999, bytes 100-1099/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, , bytes 100-1099/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 1000, , CONTRADICTION",
    "bytes=100-1099, 206, 206, 1000, bytes 0-999/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 1000, bytes 101-1100/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 999, bytes 100-1098/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 1001, bytes 100-1100/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 1000, bytes 100-1099/1000, CONTRADICTION",
    "bytes=-1000, 206, 206, 1000, bytes 3999-4998/5000, CONTRADICTION",
    "bytes=-1000, 206, 206, 999, bytes 4001-4999/5000, CONTRADICTION",
    "bytes=-1000, 206, 206, 1001, bytes 3999-4999/*, CONTRADICTION",
    "bytes=100-1099, 500, 206, 1000, bytes 100-1099/5000, CONTRADICTION",
    "bytes=100-1099, 206, 204, 1000, bytes 1099-100/5000, CONTRADICTION",
    "bytes=100-1099, 206, 206, 1000, bytes 99999999999999999999-1/5000, CONTRADICTION",
    "bytes=100-1099, 404, , , , ORDINARY",
    "bytes=100-1099, 404, 404, , , ORDINARY",
    "bytes=100-1099, 416, , , , ORDINARY",
    "bytes=100-1099, 501, 501, , , DECLINED",
    "bytes=100-1099, 501, , , , DECLINED",
    "bytes=100-1099, 400, , , , DECLINED",
    "bytes=100-1099, 206, 501, , , DECLINED",
    "bytes=100-1099, 206, x, 1000, bytes 100-1099/5000, DECLINED",
    "bytes=100-1099, 500, , , , FAILED",
    "bytes=100-1099, 307, , , , FAILED",
    "bytes=100-1099, 206, , , , CONTRADICTION",
  })
  void ofGet(
      String wanted, int status, String reply, String bytes, String range, Verdict expected) {
    SdkHttpRequest request = request(SdkHttpMethod.GET).putHeader("Range", wanted).build();
    SdkHttpResponse.Builder response = response(status, reply, bytes);
    if (range != null) {
      response.putHeader("Content-Range", range);
    }
    Reply read = Reply.of(Operation.GET_OBJECT, request, response.build(), SIZE, true);
    assertEquals(expected, read.verdict(), read::reason);
    if (expected == Verdict.MOVED) {
      assertEquals(Long.parseLong(bytes), read.bytes());
    }
  }

  @ParameterizedTest
  @CsvSource({
    // status, reply, bytes
    "200, 200, 1000, MOVED",
    "200, 204, , MOVED",
    "200, 200, 999, CONTRADICTION",
    "200, 200, 01000, CONTRADICTION",
    "200, , , IGNORED",
    "200, 501, , DECLINED",
    "200, 2000, , DECLINED",
    "503, , , FAILED",
    "503, 200, 1000, CONTRADICTION",
    "412, , , ORDINARY",
    "403, , , ORDINARY",
  })
  void ofPut(int status, String reply, String bytes, Verdict expected) {
    Reply read =
        Reply.of(
            Operation.PUT_OBJECT,
            request(SdkHttpMethod.PUT).build(),
            response(status, reply, bytes).putHeader("ETag", "\"0\"").build(),
            SIZE,
            true);
    assertEquals(expected, read.verdict(), read::reason);
  }

  private static SdkHttpRequest.Builder request(SdkHttpMethod method) {
    return SdkHttpRequest.builder().method(method).protocol("http").host("host");
  }

  private static SdkHttpResponse.Builder response(int status, String reply, String bytes) {
    SdkHttpResponse.Builder response = SdkHttpResponse.builder().statusCode(status);
    if (reply != null) {
      response.putHeader(Reply.REPLY, reply);
    }
    if (bytes != null) {
      response.putHeader("x-amz-rdma-bytes-transferred", bytes);
    }
    return response;
  }
}
