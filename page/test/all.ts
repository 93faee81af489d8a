import "./model.test";
import "./timeline.test";
