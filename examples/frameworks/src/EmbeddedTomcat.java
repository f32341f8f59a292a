import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.file.Files;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/** Tomcat, embedded, and the JDK's client. */
final class EmbeddedTomcat {
  public static void main(String[] args) throws Exception {
    Tomcat tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createTempDirectory("tomcat").toString());
    tomcat.setPort(0);
    Connector connector = tomcat.getConnector();
    connector.setProperty("address", Traffic.server().getHostAddress());
    Context context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "body", new Body());
    context.addServletMappingDecoded("/", "body");
    tomcat.start();
    Traffic.download(50, connector.getLocalPort());
    Traffic.besides();
    tomcat.stop();
    tomcat.destroy();
  }

  /** Answers with the body. */
  static final class Body extends HttpServlet {
    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      response.getOutputStream().write(Traffic.BODY);
    }
  }
}
