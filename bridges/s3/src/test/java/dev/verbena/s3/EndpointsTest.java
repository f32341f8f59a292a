package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;

/** Which requests go to which endpoint. */
class EndpointsTest {
  private static Endpoints endpoints(String names) {
    return Endpoints.of(Settings.of(name -> name.equals("endpoints") ? names : null));
  }

  @ParameterizedTest
  @CsvSource({
    "http://example.com:9000/b/k, example.com:9000",
    "http://Example.COM:9000/b/k, example.com:9000",
    "http://b.example.com:9000/k, example.com:9000",
    "http://s3.example.com:9000/b/k, s3.example.com:9000",
    "http://b.s3.example.com:9000/k, s3.example.com:9000",
    "http://example.com:9001/b/k, none",
    "http://badexample.com:9000/b/k, none",
    "http://[::1]:9000/b/k, [::1]:9000",
    "http://plain/b/k, plain",
    "https://plain/b/k, plain",
    "http://plain:443/b/k, none",
  })
  void requestsGoToTheEndpointOfTheirHost(URI uri, String expected) {
    Endpoints all = endpoints("example.com:9000, s3.example.com:9000, [::1]:9000, plain");
    SdkHttpRequest request = SdkHttpRequest.builder().method(SdkHttpMethod.GET).uri(uri).build();
    assertEquals(expected, all.of(request).map(Endpoint::toString).orElse("none"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"h:0", "h:65536", "h:x", "h:-1", "http://h", "h/b", "u@h", "a_b"})
  void namesThatAreNone(String name) {
    var refused = assertThrows(IllegalArgumentException.class, () -> endpoints(name));
    assertTrue(refused.getMessage().contains(name), refused::toString);
  }
}
