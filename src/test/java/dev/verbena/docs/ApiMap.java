package dev.verbena.docs;

import com.sun.source.tree.BlockTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePathScanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Which public members of the library's Java name which C function in their documentation. */
final class ApiMap {
  private static final Path SOURCES = Path.of("src/main/java/dev/verbena");
  private static final List<String> PACKAGES =
      List.of("", "address", "attributes", "values", "verbs", "flow", "util", "cm", "sockets");
  private static final Pattern TAGS = Pattern.compile("(?sm)^\\s*@\\w.*");

  /** Paragraphs after the first, and all tags but what is returned. */
  private static final Pattern DETAILS =
      Pattern.compile("(?sm)(<p>|^\\s*@(?!return)\\w).*?(?=^\\s*@|\\z)");

  /** Not {@code ibv_create_qp(3)}: that refers to a manual page. */
  private static final Pattern FUNCTION =
      Pattern.compile(
          "\\b_*([a-z]+_[a-z0-9_]+|r(?:socket|bind|listen|accept|connect|shutdown|close|recv\\w*"
              + "|send\\w*|readv?|writev?|poll|select|getpeername|getsockname|setsockopt"
              + "|getsockopt|fcntl|iomap|iounmap|iowrite))\\b(?!\\()");

  private final SortedMap<String, TreeSet<String>> members = new TreeMap<>();

  private ApiMap() {}

  static ApiMap ofSources() throws IOException {
    ApiMap map = new ApiMap();
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      var units = files.getJavaFileObjectsFromPaths(sources());
      var task =
          (JavacTask) compiler.getTask(null, files, null, List.of("-proc:none"), null, units);
      DocTrees docs = DocTrees.instance(task);
      for (CompilationUnitTree unit : task.parse()) {
        map.new Reader(docs).scan(unit, null);
      }
    }
    return map;
  }

  private static List<Path> sources() throws IOException {
    List<Path> sources = new ArrayList<>();
    for (String name : PACKAGES) {
      try (Stream<Path> files = Files.list(SOURCES.resolve(name))) {
        files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
      }
    }
    return sources;
  }

  /** The members that name a function; those of the function proper for a part of it. */
  List<String> of(String function) {
    String proper = function.replaceFirst("^_+", "");
    return List.copyOf(members.getOrDefault(proper, new TreeSet<>()));
  }

  /** Reads the comments of what users can see. */
  private final class Reader extends TreePathScanner<Void, Void> {
    private final DocTrees docs;

    Reader(DocTrees docs) {
      this.docs = docs;
    }

    @Override
    public Void visitClass(ClassTree type, Void unused) {
      boolean inInterface =
          getCurrentPath().getParentPath().getLeaf() instanceof ClassTree outer
              && outer.getKind() == Tree.Kind.INTERFACE;
      if (!inInterface && !isVisible(type.getModifiers())) {
        return null;
      }
      note(enclosing(), TAGS);
      return super.visitClass(type, null);
    }

    @Override
    public Void visitMethod(MethodTree method, Void unused) {
      if (isVisible(method.getModifiers()) || owner().getKind() == Tree.Kind.INTERFACE) {
        String parameters =
            method.getParameters().stream()
                .map(parameter -> parameter.getType().toString())
                .collect(Collectors.joining(", ", "(", ")"));
        note(enclosing() + "." + method.getName() + parameters, DETAILS);
      }
      return null;
    }

    @Override
    public Void visitVariable(VariableTree field, Void unused) {
      if (isVisible(field.getModifiers()) || owner().getKind() == Tree.Kind.ENUM) {
        note(enclosing() + "." + field.getName(), DETAILS);
      }
      return null;
    }

    /** Initializers have no members. */
    @Override
    public Void visitBlock(BlockTree initializer, Void unused) {
      return null;
    }

    private boolean isVisible(ModifiersTree modifiers) {
      return modifiers.getFlags().contains(Modifier.PUBLIC)
          || modifiers.getFlags().contains(Modifier.PROTECTED);
    }

    private ClassTree owner() {
      return (ClassTree) getCurrentPath().getParentPath().getLeaf();
    }

    /** The name of the class that is being read, with those around it. */
    private String enclosing() {
      List<String> names = new ArrayList<>();
      getCurrentPath()
          .forEach(
              tree -> {
                if (tree instanceof ClassTree type) {
                  names.addFirst(type.getSimpleName().toString());
                }
              });
      return String.join(".", names);
    }

    /**
     * Notes the functions that a comment names: the comment of a class in its description, which
     * also says what closes it; that of another member in its summary and in what it returns, since
     * the rest may name functions of other members.
     */
    private void note(String member, Pattern ignored) {
      String comment = docs.getDocComment(getCurrentPath());
      if (comment == null) {
        return;
      }
      Matcher function = FUNCTION.matcher(ignored.matcher(comment).replaceAll(""));
      while (function.find()) {
        members.computeIfAbsent(function.group(1), f -> new TreeSet<>()).add(member);
      }
    }
  }
}
